// Of how many bytes the reductions and messages are that a launch times.
#pragma once

#include <cstdint>
#include <vector>

#include "analytic/memory/sizes.h"
#include "base/placement.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// Of a plan with many more sizes the smallest, the largest and those evenly between.
inline constexpr std::size_t most_exchange_sizes = 6;

/// Payloads of the plan's collectives in groups of this shape that are priced by the same curve: of reduce-scatters or
/// of all-gathers (share_curves), or of all the others. Ascending, unique, most_exchange_sizes at most; empty where the
/// plan has none. O(operations).
std::vector<std::int64_t> collective_sizes(const plan::Plan& plan, const Sizes& sizes, plan::OpKind collective,
                                           const GroupShape& shape);
/// The same of messages within hosts or between them; of those that ranks share the links for, what all of them send.
std::vector<std::int64_t> message_sizes(const plan::Plan& plan, const Sizes& sizes, bool between_hosts);

/// What is timed for.
enum class ExchangesOf {
  plan,     ///< for this one alone: its own sizes
  any_plan  ///< for others, too: powers of eight besides, from which any is interpolated
};
/// From `smallest`, which tells what an exchange takes without bytes, up to `largest` (at least an element): ascending,
/// unique, whole elements of fp32. `own`, ascending, are those of the plan; where there are none it is as for any_plan.
std::vector<std::int64_t> timed_sizes(ExchangesOf plans, std::int64_t smallest, std::int64_t largest,
                                      const std::vector<std::int64_t>& own);

}  // namespace parabench::analytic
