#include "parallelism/plan/strategies/strategies.h"

#include <utility>

#include "base/error.h"
#include "parallelism/plan/passes/compression.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/passes/statistics.h"
#include "parallelism/plan/strategies/check_case.h"
#include "parallelism/plan/strategies/pipeline.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "parallelism/plan/ties.h"

namespace parabench::plan {

int largest_piece(const Case& spec) {
  const int pieces = find_strategy(spec.strategy.name).pieces(spec);
  return (spec.batch - 1) / pieces + 1;  // the sum of both may not fit
}

Plan make_plan(const Case& spec, const models::ModelSpec& model, const Profile& profile, int steps,
               const GivenSchedule* given) {
  check_case(spec, model, given);
  if (steps < 1) throw usage_error("steps", std::to_string(steps), "an integer >= 1");
  const Strategy& strategy = find_strategy(spec.strategy.name);
  const StrategyInput input{spec, model, profile, steps, given};
  Plan plan =
      strategy.schedule.order ? pipeline_plan(input, strategy.schedule, strategy.pipe(spec)) : strategy.write(input);
  plan = add_statistics_sums(compress_sums(add_tied_sums(std::move(plan), model)));
  return mark_accumulation(add_recompute(std::move(plan), spec.recompute));
}

}  // namespace parabench::plan
