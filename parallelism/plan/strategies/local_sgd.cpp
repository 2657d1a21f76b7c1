#include "parallelism/plan/strategies/local_sgd.h"

#include <charconv>
#include <string>
#include <utility>

#include "base/error.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/strategies/data_parallel.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::plan {
namespace {

constexpr int most_steps = 1000;  // a plan lists them all
constexpr double diloco_lr = 0.7, diloco_momentum = 0.9;

int read_every(const std::string& text) {
  int steps = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), steps);
  if (code != std::errc() || end != text.data() + text.size() || steps < 1 || steps > most_steps)
    throw usage_error("every of local-sgd", text, std::string(every_expected), "try every=4");
  return steps;
}

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
  std::string every(usual_every), outer(usual_outer);
  for (const auto& [name, value] : spec.strategy.parameters) {
    if (name == "every") every = value;
    if (name == "outer") outer = value;
  }
  Averaging result = outer_optimizer(spec, outer);
  const int steps = read_every(every);
  if (spec.np > 1) result.every = steps;
  return result;
}

Plan local_sgd_plan(const StrategyInput& input) {
  const Averaging by = averaging(input.spec);
  return replicated_plan(input, [&](Plan plan) {
    const auto runs = buckets(plan, gradient_bytes(plan, input.model), input.spec.bucket);
    plan = unroll(add_updates(std::move(plan), runs), by.every);
    plan.averaging = by;
    return add_averages(std::move(plan), runs);
  });
}

}  // namespace parabench::plan
