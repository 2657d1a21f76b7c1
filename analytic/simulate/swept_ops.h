// What a rank of a swept pipeline does, and when.
#pragma once

#include <vector>

#include "analytic/simulate/pipeline_sweep.h"

namespace parabench::analytic {

/// One of a rank's own operations in a sweep.
struct SweptOp {
  plan::OpKind kind = plan::OpKind::forward;
  int place = 0;  ///< the chunk; of an update its place among the rank's
  int micro_batch = 0, step = 0;
  plan::Span span;
  /// When the operation had ended, wherever it is, that this one waited for; before `queued`: none.
  double made = 0;
};
/// Makes `ops` those of a rank over all steps, in the order of its compute lane; of a period those of a step that has
/// others before it, on the clock of the first one: its first operation may have been queued before 0.
void swept_ops(const plan::PipelineOutline& outline, const SweptPipeline& swept, Rank rank, std::vector<SweptOp>& ops);

}  // namespace parabench::analytic
