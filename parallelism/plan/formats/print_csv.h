// A plan in the format of torch.distributed.pipelining, which given_schedule.h reads.
#pragma once

#include <string>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// torch.distributed.pipelining's action format: one row per rank, compute and point-to-point actions in an order in
/// which they can run one after the other, two that may overlap as `(2F3;1B0)OVERLAP_F_B`; of copies the first one's
/// rows. Messages of skips, which it has no word for, are left out: who reads it as a schedule adds them again. Throws
/// usage_error for a plan that dead-locks or whose ranks serve several replicas.
std::string to_csv(const Plan& plan);

}  // namespace parabench::plan
