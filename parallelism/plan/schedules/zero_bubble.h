// The orders ZB-H1 and ZB-H2.
#pragma once

#include "parallelism/plan/schedules/schedule.h"

namespace parabench::plan {

DeviceOrder zero_bubble_h1(const Pipe& pipe, int device);
DeviceOrder zero_bubble_h2(const Pipe& pipe, int device);

}  // namespace parabench::plan
