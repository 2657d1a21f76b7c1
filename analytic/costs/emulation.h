// Costs of emulated devices.
#pragma once

#include <memory>

#include "analytic/costs/cost_model.h"
#include "parallelism/plan/durations.h"

namespace parabench {

/// Another model's costs where every rank has a device to itself and links are free of computing: cores() is 0, and
/// an operation costs what it costs while no other rank is busy.
std::unique_ptr<CostModel> exclusive_costs(std::unique_ptr<CostModel> shared);

/// What each operation of `plan` costs, as simulate() charges it where cores() is 0.
Durations durations(const Plan& plan, const CostModel& cost);

}  // namespace parabench
