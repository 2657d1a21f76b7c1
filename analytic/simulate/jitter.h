// Passes that do not take the same time twice.
#pragma once

#include "analytic/costs/time_model.h"

namespace parabench::analytic {

/// Another model's times, in which no two passes are equal: each takes its time plus z times 1.4826 of its deviation
/// (deviation_s(); the standard deviation of normal noise), never less than nothing. z has mean 0 and variance 1, is at
/// most 3.5 (the sum of four uniform numbers), and depends on rank, step and operation alone: the same question has the
/// same answer. Ranks that wait for each other go by the slowest of them, which a simulation of medians does not show.
/// `base` outlives it.
class Jittered final : public TimeModel {
 public:
  explicit Jittered(const TimeModel& base) : base_(base) {}
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override;
  double deviation_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    return base_.deviation_s(plan, rank, op, busy_ranks);
  }
  double slowdown_beside_computing(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    return base_.slowdown_beside_computing(plan, rank, op);
  }
  int cores() const override { return base_.cores(); }
  bool shares_links() const override { return base_.shares_links(); }
  Uplinks uplinks() const override { return base_.uplinks(); }
  std::string source() const override { return base_.source(); }

 private:
  const TimeModel& base_;
};

}  // namespace parabench::analytic
