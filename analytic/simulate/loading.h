// Steps that wait for their samples.
#pragma once

#include <vector>

#include "analytic/costs/time_model.h"
#include "base/prediction.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// By rank: seconds in which its loader makes the images that the rank reads in a step (input_pieces.h), at
/// TimeModel::load_s_per_sample(); 0 of ranks that read none, and where that is not known. Several ranks that share the
/// pieces of a replica load as many of them in the mean. O(ranks + stages).
std::vector<double> loading_s(const plan::Plan& plan, const TimeModel& time);

/// Lets a prediction that was made as if samples were always there wait for them. Loaders work ahead, beside the step,
/// so that in the steady state a step takes as long as the slowest of them at least: loading_s(), and on the processor,
/// where a rank's t threads that compute and its l loader threads share t cores, what it loses to the rank's computing.
/// Of what that takes, a loader makes up the share t / (t + l) / min(1, t / l) at the same time, and adds the rest.
/// What the step then takes longer is data wait of the ranks with that loader and bubble of all others. The step alone
/// stays as it is: what it reads was loaded before. There is then no timeline, which shows no such wait.
void wait_for_samples(Predicted& predicted, const plan::Plan& plan, const TimeModel& time);

}  // namespace parabench::analytic
