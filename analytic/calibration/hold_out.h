// What is left of a calibration where a case may not be predicted from its own measurements.
#pragma once

#include <optional>

#include "analytic/calibration/calibration.h"
#include "analytic/memory/sizes.h"

namespace parabench::analytic {

/// The calibration without the times of the layers of a plan's model (`sizes`) at the numbers of samples that the
/// plan's pieces have, whoever measured them: its passes are then predicted from smaller and larger pieces alone
/// (interpolate.h). Rates and overheads stay, which know no samples, and curves, though these have points of as many
/// bytes as the plan's own messages and sums. nullopt where under a key of the case, with one rank busy or all of the
/// fullest host, fewer than two other numbers of samples are left, of which no line can be drawn; where backwards are
/// split, of those whose halves were measured.
std::optional<Calibration> without_own_samples(const Calibration& calibration, const Sizes& sizes,
                                               const plan::Plan& plan);

}  // namespace parabench::analytic
