#include "analytic/simulate/jitter.h"

#include <algorithm>
#include <cmath>

#include "base/placement.h"
#include "base/random.h"
#include "base/statistics.h"

namespace parabench::analytic {

Jittered::Jittered(const TimeModel& base, const plan::Plan& plan) : TimesOf(base), z_(plan.ranks.size()) {
  std::vector<int> order;
  for (int rank = 0; rank < std::ssize(plan.ranks); ++rank)
    if (!plan::is_server(plan, Rank(rank))) order.push_back(rank);
  // Neighbours in a pipeline are no more alike than others.
  std::ranges::sort(order, {}, [](int rank) { return counter_hash(0, hash_name("jitter"), rank); });
  const std::vector<double> scores = normal_scores(static_cast<int>(order.size()));
  for (std::size_t k = 0; k < order.size(); ++k) z_[order[k]] = scores[k];
}

TimeParts Jittered::parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const {
  const TimeParts parts = base_.parts(plan, rank, op, busy_ranks);
  if (!plan::is_pass(op.kind)) return parts;
  const int all = ranks_on_fullest_host(plan.placement, plan.spec.np);
  const double crowded_s = busy_ranks == all ? parts.total() : base_.seconds(plan, rank, op, all);
  if (!(crowded_s > 0)) return parts;
  const int every = std::max(1, plan.averaging.every);
  const bool is_even = op.step.value / every % 2 == 0;
  const double z = (is_even ? z_[rank.value] : -z_[rank.value]) / std::sqrt(every);
  const double share = z * deviation_per_mad * base_.deviation_s(plan, rank, op, all) / crowded_s;
  return with_total(parts, std::max(0.0, parts.total() * (1 + share)));
}

}  // namespace parabench::analytic
