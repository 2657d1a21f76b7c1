// One step cut out of a window's timeline.
#pragma once

#include <optional>

#include "base/step_timeline.h"
#include "parallelism/plan/timeline.h"

namespace parabench::plan {

/// Actions at most: more are no drawing any more, and would outweigh the rest of a record.
inline constexpr int most_excerpt_actions = 4096;

/// The actions of the step whose duration is the median of the steps from `first_step` on (the lower one of two);
/// where the window is asynchronous, of as many consecutive steps as it has ranks, since mini-batches overlap there.
/// Times are relative to the earliest begin. nullopt where there are more than most_excerpt_actions. `plan` is
/// unrolled. Precondition: it has a step first_step.
std::optional<StepTimeline> excerpt(const Plan& plan, const Timeline& timeline, StepId first_step);

}  // namespace parabench::plan
