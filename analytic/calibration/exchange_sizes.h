// Of how many bytes the reductions and messages are that a launch times.
#pragma once

#include <cstdint>
#include <vector>

#include "analytic/memory/sizes.h"
#include "base/placement.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// Of a plan with many more sizes the smallest, the largest and some between, evenly by their order.
inline constexpr std::size_t most_exchange_sizes = 6;

/// Payloads of the plan's collectives in groups of this shape that are priced by the same curve: of reduce-scatters or
/// of all-gathers (share_curves), or of all the others. Ascending, unique, most_exchange_sizes at most; empty where the
/// plan has none. O(operations).
std::vector<std::int64_t> collective_sizes(const plan::Plan& plan, const Sizes& sizes, plan::OpKind collective,
                                           const GroupShape& shape);
/// The same of messages within hosts or between them.
std::vector<std::int64_t> message_sizes(const plan::Plan& plan, const Sizes& sizes, bool between_hosts);

/// Whose exchanges are predicted from what is timed.
enum class ExchangesOf {
  plan,     ///< of the plan that is launched, alone: its own sizes
  any_plan  ///< of others, too: sizes eight times apart besides, from which any is interpolated
};
/// `smallest`, which tells what an exchange takes without bytes, and `own`, those of the plan; for any_plan those
/// between, up to `largest`; of a plan that has none `smallest` and `largest`. Ascending, unique, none larger than
/// `largest` (at least an element), in whole elements of fp32. Precondition: `own` ascends.
std::vector<std::int64_t> timed_sizes(ExchangesOf whose, std::int64_t smallest, std::int64_t largest,
                                      const std::vector<std::int64_t>& own);

}  // namespace parabench::analytic
