// Times of emulated devices.
#pragma once

#include <memory>

#include "analytic/costs/time_model.h"
#include "parallelism/plan/durations.h"

namespace parabench::analytic {

/// Another model's times where every rank has a device to itself and links are free of computing: cores() is 0, and
/// an operation costs what it costs while no other rank is busy.
std::unique_ptr<const TimeModel> exclusive_times(std::unique_ptr<const TimeModel> shared);

/// What each operation of `plan` costs, as simulate() charges it where cores() is 0.
plan::Durations durations(const plan::Plan& plan, const TimeModel& time);

}  // namespace parabench::analytic
