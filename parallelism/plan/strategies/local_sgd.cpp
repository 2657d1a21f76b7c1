#include "parallelism/plan/strategies/local_sgd.h"

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/strategies/data_parallel.h"
#include "parallelism/plan/strategies/parameters.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::plan {
namespace {

constexpr int most_steps = 1000;  // a plan lists them all
constexpr double diloco_lr = 0.7, diloco_momentum = 0.9;

Averaging outer_optimizer(const Case& spec, const std::string& choice) {
  if (choice == usual_outer) return {};
  if (choice != "nesterov")
    throw usage_error("outer of local-sgd", choice, std::string(outer_expected), "try outer=nesterov");
  if (spec.np == 1)
    throw usage_error("outer of local-sgd", choice, "none with np:1, where nothing is averaged", "try np:2");
  return {.lr = diloco_lr, .momentum = diloco_momentum};
}

}  // namespace

Averaging averaging(const Case& spec) {
  if (!find_strategy(spec.strategy.name).find_parameter("every")) return {};
  Averaging result = outer_optimizer(spec, parameter_text(spec, "outer"));
  const int steps = parameter_number(spec, "every", most_steps);
  if (spec.np > 1) result.every = steps;
  return result;
}

Plan local_sgd_plan(const StrategyInput& input) {
  const Averaging by = averaging(input.spec);
  return bucketed_plan(input, [&](Plan plan, const std::vector<SegmentRun>& runs) {
    plan = unroll(add_updates(std::move(plan), runs), by.every);
    plan.averaging = by;
    return add_averages(std::move(plan), runs);
  });
}

Plan shorten_rounds(Plan plan, int most) {
  const int dropped = plan.averaging.every - most;
  if (dropped <= 0 || plan.averaging != averaging(plan.spec)) return plan;
  plan.steps = plan.averaging.every = most;
  auto& parameters = plan.spec.strategy.parameters;
  std::erase_if(parameters, [](const auto& parameter) { return parameter.first == "every"; });
  if (std::to_string(most) != usual_every) parameters.insert(parameters.begin(), {"every", std::to_string(most)});
  for (RankProgram& rank : plan.ranks) {
    for (Lane& lane : rank.lanes) {
      std::erase_if(lane.ops, [&](const Op& op) { return op.step.value < dropped; });
      for (Op& op : lane.ops) {
        op.step.value -= dropped;
        if (has_version(op)) op.version.value -= dropped;
      }
    }
  }
  return plan;
}

}  // namespace parabench::plan
