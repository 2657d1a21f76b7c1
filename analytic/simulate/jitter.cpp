#include "analytic/simulate/jitter.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "base/statistics.h"

namespace parabench::analytic {

Jittered::Jittered(const TimeModel& base, int ranks) : base_(base), z_(static_cast<std::size_t>(ranks)) {
  // Neighbours in a pipeline are no more alike than others.
  std::vector<int> order(z_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [](int rank) { return counter_hash(0, hash_name("jitter"), rank); });
  const std::vector<double> scores = normal_scores(ranks);
  for (std::size_t k = 0; k < order.size(); ++k) z_[order[k]] = scores[k];
}

TimeParts Jittered::parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const {
  const TimeParts parts = base_.parts(plan, rank, op, busy_ranks);
  if (!plan::is_pass(op.kind)) return parts;
  const double z = op.step.value % 2 == 0 ? z_[rank.value] : -z_[rank.value];
  const double deviation_s = deviation_per_mad * base_.deviation_s(plan, rank, op, busy_ranks);
  return with_total(parts, std::max(0.0, parts.total() + z * deviation_s));
}

}  // namespace parabench::analytic
