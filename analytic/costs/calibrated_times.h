// Times from measurements.
#pragma once

#include <memory>

#include "analytic/costs/measured_model.h"
#include "analytic/costs/time_model.h"

namespace parabench::analytic {

/// Of calibrated_costs().
std::unique_ptr<const TimeModel> calibrated_times(std::shared_ptr<const MeasuredModel> measured);

}  // namespace parabench::analytic
