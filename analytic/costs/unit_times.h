// Times of schedules on paper.
#pragma once

#include <memory>

#include "analytic/costs/time_model.h"

namespace parabench::analytic {

/// Of unit_costs().
std::unique_ptr<const TimeModel> unit_times(double unit_s);

}  // namespace parabench::analytic
