// The table behind strategies.h: what each strategy does with ranks and keys.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "parallelism/plan/schedules/schedule.h"

namespace parabench {

/// What np means to a strategy.
enum class RankUse { one, replicas, stages };

struct Strategy {
  std::string_view name;
  RankUse ranks = RankUse::one;
  std::vector<std::string_view> keys;        ///< of the keys that only some strategies have, those that this one reads
  std::vector<std::string_view> parameters;  ///< in brackets behind its name
  int fixed_chunks = 1;                      ///< stages per device, for those without the key chunks
  Schedule schedule;                         ///< of a synchronous pipeline, else empty
  Plan (*write)(const StrategyInput& input) = nullptr;  ///< of all others
  /// Its rules of weight versions for the ranks of each stage (delay_rules.h); none where it is synchronous.
  std::vector<VersionRule> (*delay)(std::span<const int> widths) = nullptr;

  bool uses(std::string_view key) const;
  int chunks(const Case& spec) const { return uses("chunks") ? spec.chunks : fixed_chunks; }
  int stages(const Case& spec) const;  ///< of one copy of the model; where these are planned, at least
  int pieces(const Case& spec) const;  ///< parts that travel separately, over all replicas
};

std::span<const Strategy> strategies();
/// Throws usage_error with the nearest name.
const Strategy& find_strategy(std::string_view name);

}  // namespace parabench
