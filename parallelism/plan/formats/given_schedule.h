// A schedule that the user brings: torch.distributed.pipelining's CSV action format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parallelism/plan/op.h"

namespace parabench::plan {

struct GivenPass {
  OpKind kind = OpKind::forward;  ///< F, B, I or W
  StageId stage;
  MicroBatchId micro_batch;
  bool overlaps_next = false;  ///< an F that may run at the same time as the pass after it
  bool operator==(const GivenPass&) const = default;
};

struct GivenSchedule {
  int stages = 0;
  int micro_batches = 0;
  bool in_order = true;                       ///< micro-batches rise in every kind of pass of every stage
  std::vector<std::vector<GivenPass>> ranks;  ///< what each computes, in order; a stage is on one rank
  std::string sha;  ///< 16 hexadecimal digits of the passes in canonical spelling: FNV-1a 64, messages left out
};

/// One row per rank, cells `<stage><kind>[<micro-batch>]` of kinds F, B, I, W, SEND_F, RECV_F, SEND_B, RECV_B, and
/// pairs `(2F3;1B0)OVERLAP_F_B`; blank cells, UNSHARD, RESHARD and REDUCE_GRAD are passed over. Messages may be left
/// out altogether; where there are some, all must be there, behind what they send and before what needs them. Their
/// order among each other is not kept: the plan's messages are lowered anew.
/// Throws usage_error naming rank, action and rule: a cell in no such form, a repeated or missing action, a stage
/// unknown, missing or on two ranks, a message missing or in vain, a backward before its forward, passes that wait for
/// each other. O(actions log actions).
GivenSchedule read_csv(std::string_view text);

}  // namespace parabench::plan
