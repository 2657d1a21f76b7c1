// Training of a plan whose gradients PyTorch's reducer sums.
#pragma once

#include <optional>

#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"
#include "parallelism/exec/execution.h"
#include "parallelism/exec/input.h"
#include "parallelism/exec/stage_state.h"

namespace parabench::exec {

/// As execute(), of a plan of sums_by_reducer(), on the processor: a step is one forward, one backward of autograd over
/// the whole model, whose hooks are the reducer's, and one update. The reducer is made with the first plan that `state`
/// is trained by, and stays.
///
/// Spans: a layer's backward begins when the gradient of its output is there; the last one ends when the backward has
/// nothing left but to wait for the sums. The update begins when the last sum has ended: what is then left of the
/// reducer's copies out of its buckets is a part of it. A sum of the plan is that of the buckets which complete the
/// gradients of its layers: from the start of the first that no earlier sum had to the end of the last, and of no
/// length where an earlier sum had them all.
Execution train_by_reducer(const plan::Plan& plan, const models::ModelSpec& model, StageState& state,
                           comm::Communicator& comm, RankInput& input, Device& device,
                           std::optional<StepId> measure_from);

}  // namespace parabench::exec
