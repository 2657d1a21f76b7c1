// Ranks that do not take the same time twice.
#pragma once

#include <vector>

#include "analytic/costs/times_of.h"

namespace parabench::analytic {

/// Another model's times, in which every rank is now faster and now slower than it is in the mean: in a step all its
/// passes take 1 + z deviation_per_mad d times as long, never less than nothing, d being the deviation (deviation_s())
/// as a share of the pass while all ranks of a host compute. That factor is the same however many compute: a rank in a
/// slow step loses no more to those beside it (contention.h). The z of the ranks that compute are normal_scores() in a
/// random order, which change their signs from step to step, or, of ranks that average their weights every n steps
/// (Plan::averaging), from one such round to the next. So in each step the slowest of them is as slow as it is in the
/// mean of many steps, and in two steps (or rounds) each rank does as much as without jitter: ranks that meet in every
/// step go by the slowest of them, ranks that run ahead of each other make up for some of it, and two tell as much as
/// many. In a round z is divided by sqrt(n): what n steps that know nothing of each other differ by, in each of them.
/// `base` outlives it.
class Jittered final : public TimesOf {
 public:
  Jittered(const TimeModel& base, const plan::Plan& plan);
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override;

 private:
  std::vector<double> z_;  ///< by rank, in steps, or rounds, of an even number; 0 of servers
};

}  // namespace parabench::analytic
