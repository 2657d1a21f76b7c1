// The cells of a schedule file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "parallelism/plan/op.h"

namespace parabench::plan {

struct CsvAction {
  OpKind kind = OpKind::forward;    ///< a pass or a message
  Payload payload = Payload::none;  ///< of a message
  StageId stage;
  MicroBatchId micro_batch;
  bool overlaps_next = false;
};
/// `2F3`, `1RECV_B0`.
std::string to_text(const CsvAction& action);

/// Rows of ranks, blank cells and what concerns parameters alone left out. Throws usage_error for a cell that is no
/// action and for a rank without actions.
std::vector<std::vector<CsvAction>> parse_cells(std::string_view text);

/// "schedule, rank 1, 2F3: got 'repeated', expected ..."
Error schedule_error(Rank rank, std::string_view action, std::string_view what, std::string_view expected,
                     std::string_view hint = {});

}  // namespace parabench::plan
