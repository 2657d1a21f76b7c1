// The order of GPipe and of looped breadth-first: all forwards, then all backwards.
#pragma once

#include "parallelism/plan/schedules/schedule.h"

namespace parabench::plan {

DeviceOrder all_forwards_first(const Pipe& pipe, int device);

}  // namespace parabench::plan
