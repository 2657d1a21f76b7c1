#include "parallelism/plan/strategies/delay_rules.h"

#include <algorithm>

#include "parallelism/plan/strategies/local_sgd.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::plan {

std::vector<VersionRule> delay_rules(const Case& spec, std::span<const int> widths) {
  const auto rules = find_strategy(spec.strategy.name).delay;
  return rules ? rules(widths) : std::vector<VersionRule>(widths.size());
}

std::vector<VersionRule> delay_rules(const Plan& plan) { return delay_rules(plan.spec, stage_widths(plan)); }

bool delays_updates(const Case& spec) { return find_strategy(spec.strategy.name).delay != nullptr; }

std::vector<int> mini_batches_ahead(std::span<const int> widths) {
  std::vector<int> ahead(widths.size());
  int ranks = 0;
  for (std::size_t s = widths.size(); s-- > 0;) {
    ranks += widths[s];
    ahead[s] = (ranks - 1) / widths[s];
  }
  return ahead;
}

std::vector<VersionRule> weight_stashing(std::span<const int> widths) {
  std::vector<VersionRule> rules;
  const std::vector<int> ahead = mini_batches_ahead(widths);
  for (std::size_t s = 0; s < widths.size(); ++s) rules.push_back({.lag = ahead[s], .steps_per_update = widths[s]});
  return rules;
}

std::vector<VersionRule> double_buffering(std::span<const int> widths) {
  return std::vector<VersionRule>(widths.size(), {.lag = 1, .steps_per_update = 1});
}

int equivalence_steps(const Plan& plan) {
  int steps = plan.spec.graph ? graph_capture_step + 3 : 3;
  for (const VersionRule& rule : delay_rules(plan)) steps = std::max(steps, (rule.lag + 3) * rule.steps_per_update);
  const int every = std::clamp(plan.averaging.every, 1, most_verified_round);
  return every * std::max(2, (steps + every - 1) / every);
}

}  // namespace parabench::plan
