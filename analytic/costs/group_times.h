// Times of plans that list some members of their groups alone.
#pragma once

#include <memory>

#include "analytic/costs/time_model.h"

namespace parabench::analytic {

/// Another model's times where collectives are among the members that the groups of `all` have. `all`: the plan that is
/// asked about, with whole groups (plan::with_all_members). `base` outlives them.
std::unique_ptr<const TimeModel> group_times(const TimeModel& base, plan::Plan all);

}  // namespace parabench::analytic
