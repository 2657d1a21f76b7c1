// The order of Chimera.
#pragma once

#include <optional>

#include "base/error.h"
#include "parallelism/plan/schedules/schedule.h"

namespace parabench::plan {

DeviceOrder chimera(const Pipe& pipe, int device);

/// Why it cannot serve a pipe.
std::optional<Error> refuse_odd_halves(const Pipe& pipe);

}  // namespace parabench::plan
