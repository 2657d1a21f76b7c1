// The prediction of many copies that do the same.
#pragma once

#include "analytic/costs/memory_model.h"
#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"
#include "base/prediction.h"

namespace parabench::analytic {

/// predict() of the case whose two copies `plan` lists (plan::plan_of_two_copies): of all its ranks, each as that of
/// copy 0 whose place it has, and without a drawing of a step. The case's ranks must have cores to themselves
/// (time.cores() is 0): copies that share cores are in each other's way.
Predicted predict_copies(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time, const MemoryModel& memory,
                         int warmup, int steps);

}  // namespace parabench::analytic
