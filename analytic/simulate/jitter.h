// Ranks that do not take the same time twice.
#pragma once

#include <vector>

#include "analytic/costs/times_of.h"

namespace parabench::analytic {

/// Another model's times, in which every rank is now faster and now slower than it is in the mean: in a step all its
/// passes take their time plus z times deviation_per_mad of their deviation (deviation_s()), never less than nothing.
/// The z of the ranks that compute are normal_scores() in a random order, which change their signs from step to step.
/// So in each step the slowest of them is as slow as it is in the mean of many steps, and in two steps each rank does
/// as much as without jitter: ranks that meet in every step go by the slowest of them, ranks that run ahead of each
/// other make up for some of it, and two steps tell as much as many. `base` outlives it.
class Jittered final : public TimesOf {
 public:
  Jittered(const TimeModel& base, const plan::Plan& plan);
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override;

 private:
  std::vector<double> z_;  ///< by rank, in steps of an even number; 0 of servers
};

}  // namespace parabench::analytic
