// A plan's timeline for trace viewers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "parallelism/plan/plan.h"
#include "parallelism/plan/timeline.h"

namespace parabench::plan {

/// Chrome trace events as Perfetto and chrome://tracing read them, times in microseconds from the timeline's origin: a
/// process per rank, named "<who> 0", "<who> 1", ..., with a thread per lane; a flow from each send to its receive.
/// `first_process`: the process id of rank 0, so that several timelines fit into one file.
nlohmann::json to_trace(const Plan& plan, const Timeline& timeline, const std::string& who = "rank",
                        int first_process = 0);

}  // namespace parabench::plan
