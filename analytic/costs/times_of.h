// Times that are another model's but for some.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "analytic/costs/time_model.h"

namespace parabench::analytic {

/// Another model's times: what changes some of them derives from it and overrides what it changes. All change parts(),
/// whose sum seconds() then is.
class TimesOf : public TimeModel {
 public:
  double deviation_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    return base_.deviation_s(plan, rank, op, busy_ranks);
  }
  BesideComputing beside_computing(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    return base_.beside_computing(plan, rank, op);
  }
  double load_s_per_sample(const plan::Plan& plan, int loading_ranks) const override {
    return base_.load_s_per_sample(plan, loading_ranks);
  }
  Link link(const plan::Plan& plan) const override { return base_.link(plan); }
  std::string assumption(const plan::Plan& plan) const override { return base_.assumption(plan); }
  std::string link_assumption(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    return base_.link_assumption(plan, rank, op);
  }
  int cores() const override { return base_.cores(); }
  int cores_of_rank(const Case& spec) const override { return base_.cores_of_rank(spec); }
  bool shares_links() const override { return base_.shares_links(); }
  Uplinks uplinks() const override { return base_.uplinks(); }
  std::string source() const override { return base_.source(); }
  std::string link_source() const override { return base_.link_source(); }

 protected:
  /// `base` outlives it.
  explicit TimesOf(const TimeModel& base) : base_(base) {}
  explicit TimesOf(std::unique_ptr<const TimeModel> base) : base_(*base), owned_(std::move(base)) {}

  const TimeModel& base_;

 private:
  std::unique_ptr<const TimeModel> owned_;  ///< nullptr: base_ is somebody else's
};

}  // namespace parabench::analytic
