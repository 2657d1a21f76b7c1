// Plans of pipelines that never drain: PipeDream and PipeDream-2BW.
#pragma once

#include <optional>

#include "base/error.h"
#include "parallelism/plan/schedules/schedule.h"
#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

Plan pipedream_plan(const StrategyInput& input);
Plan pipedream_2bw_plan(const StrategyInput& input);
/// Why PipeDream-2BW cannot serve a pipe: its two weight versions do not last for so many mini-batches in flight.
std::optional<Error> refuse_a_third_version(const Pipe& pipe);

}  // namespace parabench::plan
