// A rank's first go at everything it will compute.
#pragma once

#include "models/spec/model.h"
#include "parallelism/exec/device.h"
#include "parallelism/exec/stage_state.h"
#include "parallelism/plan/plan.h"

namespace parabench::exec {

/// Runs every segment that the rank holds once forwards and backwards at each size of its pieces, so that libraries
/// choose their algorithms (cuDNN, which tries them out) before any step. To be called by the computing thread, for
/// which ATen keeps the choices; ranks of one process take turns, since others on the same GPU would disturb the trial
/// (ranks of several processes that share a GPU do not wait for each other).
/// Parameters, gradients and statistics are as before, and unused memory is given back.
void tune(const plan::Plan& plan, const models::ModelSpec& model, StageState& state, Device& device, Rank rank);

}  // namespace parabench::exec
