#include "parallelism/plan/strategies.h"

#include <algorithm>

#include "base/error.h"
#include "parallelism/plan/generators.h"
#include "parallelism/plan/strategy_table.h"

namespace parabench {

std::span<const Strategy> strategies() {
  static const std::vector<Strategy> table = {
      {.name = "sequential", .ranks = RankUse::one, .keys = {}, .write = sequential_plan},
      {.name = "data-parallel", .ranks = RankUse::replicas, .keys = {"bucket"}, .write = data_parallel_plan},
      {.name = "model-parallel", .ranks = RankUse::stages, .keys = {"partition"}, .write = model_parallel_plan},
      {.name = "gpipe", .ranks = RankUse::stages, .keys = {"micro", "partition"}, .write = gpipe_plan},
      {.name = "1f1b",
       .ranks = RankUse::stages,
       .keys = {"micro", "partition"},
       .write = one_forward_one_backward_plan},
      {.name = "dapple", .ranks = RankUse::stages, .keys = {"micro", "partition", "warmup"}, .write = dapple_plan},
      {.name = "pipedream", .ranks = RankUse::stages, .keys = {"partition"}, .write = pipedream_plan},
  };
  return table;
}

bool Strategy::uses(std::string_view key) const { return std::ranges::find(keys, key) != keys.end(); }

int Strategy::pieces(const Case& spec) const {
  if (uses("micro")) return spec.micro;
  return ranks == RankUse::replicas ? spec.np : 1;
}

const Strategy& find_strategy(std::string_view name) {
  auto found = std::ranges::find(strategies(), name, &Strategy::name);
  if (found == strategies().end()) {
    throw usage_error("strategy", name, "a known strategy", nearest_hint(name, strategy_names()));
  }
  return *found;
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) names.emplace_back(strategy.name);
  return names;
}

Plan make_plan(const Case& spec, const ModelSpec& model, std::span<const double> layer_seconds, int steps) {
  check_case(spec, model);
  if (steps < 1) throw usage_error("steps", std::to_string(steps), "an integer >= 1");
  return find_strategy(spec.strategy.name).write({spec, model, layer_seconds, steps});
}

}  // namespace parabench
