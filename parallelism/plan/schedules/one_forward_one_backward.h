// The order of 1F1B and of DAPPLE.
#pragma once

#include <optional>

#include "base/error.h"
#include "parallelism/plan/schedules/schedule.h"

namespace parabench::plan {

DeviceOrder one_forward_one_backward(const Pipe& pipe, int device);

/// Why DAPPLE's warm-up cannot be so short.
std::optional<Error> refuse_short_warmup(const Pipe& pipe);

/// What 1F1B comes to on one device that starts `ahead` forwards ahead, or as many as there are.
DeviceOrder alternating(int ahead, int micro_batches);

}  // namespace parabench::plan
