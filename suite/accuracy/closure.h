// Plans of which the model should miss next to nothing, since they are what was timed.
#pragma once

#include <span>

#include "results/accuracy.h"

namespace parabench::suite {

/// Ranks that meet once in so many steps or less often count as computing apart: what they communicate is then a small
/// part of the step, the mean over a round.
inline constexpr int steps_between_averages = 16;

/// Notes in cases of several ranks that compute apart (local-sgd) what closure they show: their paired error, of a plan
/// next to without communication that is predicted from chains which run side by side, too (JudgedCase::closure_apart).
void note_closures(std::span<results::JudgedCase> cases);

}  // namespace parabench::suite
