// From the launches of a case to one measurement and its verdict.
#pragma once

#include <span>
#include <string>

#include "results/record.h"

namespace parabench::suite {

/// One measurement from the launches of the repetitions: samples and canaries side by side, losses of the first
/// launch, per rank the largest peak memory, the mean breakdown and the mean bus bandwidth; what follows from the
/// samples. `samples`: of a step that updates are made of; `flops`: floating-point operations of a sample.
/// Precondition: at least one launch, all of the same ranks.
results::Measured combine(std::span<const results::Measured> launches, int samples, double flops);

/// Sets loss_agrees and, where they differ by more than loss_tolerance, the reason: the first losses of a measured
/// launch of `launched_steps` steps (warm-up included) against as many of the reference's. A loss that is missing
/// disagrees. Leaves loss_agrees empty where there is no reference.
void judge_losses(results::Equivalence& equivalence, std::span<const double> losses, int launched_steps);

}  // namespace parabench::suite
