// What ranks tell rank 0 of the steps that they trained.
#pragma once

#include <string>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/exec/lane_runner.h"
#include "parallelism/plan/timeline.h"
#include "suite/protocol/rank_report.h"

namespace parabench::rank {

/// What a rank reports in any case, of spans on its own clock.
protocol::RankReport report(Rank rank, exec::RankSpans spans, double clock_offset, const std::string& device);

/// Those of all ranks, on rank 0; on the others none. Collective.
std::vector<protocol::RankReport> gather_reports(comm::Communicator& comm, const protocol::RankReport& mine);

/// The spans of all ranks; its origin is when the first one entered the window.
plan::Timeline timeline_of(const std::vector<protocol::RankReport>& reports);

}  // namespace parabench::rank
