// The order of DualPipeV.
#pragma once

#include <optional>

#include "base/error.h"
#include "parallelism/plan/schedules/schedule.h"

namespace parabench::plan {

DeviceOrder dual_pipe_v(const Pipe& pipe, int device);

/// Why it cannot serve a pipe.
std::optional<Error> refuse_fewer_than_twice_the_devices(const Pipe& pipe);

}  // namespace parabench::plan
