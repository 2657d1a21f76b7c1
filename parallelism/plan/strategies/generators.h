// The strategies that are no schedule of a pipeline (schedule.h): one function each.
#pragma once

#include "parallelism/plan/schedules/schedule.h"

namespace parabench::plan {

Plan data_parallel_plan(const StrategyInput& input);  ///< with one rank: sequential
Plan zero1_plan(const StrategyInput& input);          ///< with one rank: sequential
Plan pipedream_plan(const StrategyInput& input);
Plan pipedream_2bw_plan(const StrategyInput& input);
/// Why PipeDream-2BW cannot serve a pipe: its two weight versions do not last for so many mini-batches in flight.
std::optional<Error> refuse_a_third_version(const Pipe& pipe);
Plan csv_plan(const StrategyInput& input);  ///< of a schedule that the user brings

}  // namespace parabench::plan
