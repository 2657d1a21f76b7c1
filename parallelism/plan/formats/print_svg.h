// A plan as a drawing.
#pragma once

#include <string>

#include "parallelism/plan/plan.h"
#include "parallelism/plan/timeline.h"

namespace parabench::plan {

/// A drawing of the timeline: one row per rank, a bar per action with the letter of its kind and its micro-batch,
/// colour-blind safe colour by kind, shade by chunk; the same text for the same plan and times.
std::string to_svg(const Plan& plan, const Timeline& timeline);

}  // namespace parabench::plan
