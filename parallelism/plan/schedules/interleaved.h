// The order of Megatron-LM's interleaved 1F1B.
#pragma once

#include <optional>

#include "base/error.h"
#include "parallelism/plan/schedules/schedule.h"

namespace parabench::plan {

DeviceOrder interleaved(const Pipe& pipe, int device);

/// Why it cannot serve a number of micro-batches.
std::optional<Error> refuse_uneven_rounds(const Pipe& pipe);

}  // namespace parabench::plan
