// The order ZB-V.
#pragma once

#include "parallelism/plan/schedules/schedule.h"

namespace parabench::plan {

DeviceOrder zero_bubble_v(const Pipe& pipe, int device);

}  // namespace parabench::plan
