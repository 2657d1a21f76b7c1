#include "analytic/costs/group_times.h"

#include <utility>

namespace parabench::analytic {
namespace {

class GroupTimes final : public TimeModel {
 public:
  GroupTimes(const TimeModel& base, plan::Plan all) : base_(base), all_(std::move(all)) {}

  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    return base_.parts(asked(plan, op), rank, op, busy_ranks);
  }
  double seconds(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    return base_.seconds(asked(plan, op), rank, op, busy_ranks);
  }
  double deviation_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    return base_.deviation_s(asked(plan, op), rank, op, busy_ranks);
  }
  BesideComputing beside_computing(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    return base_.beside_computing(asked(plan, op), rank, op);
  }
  Link link(const plan::Plan& plan) const override { return base_.link(plan); }
  std::string assumption(const plan::Plan& plan) const override { return base_.assumption(plan); }
  std::string link_assumption(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    return base_.link_assumption(asked(plan, op), rank, op);
  }
  int cores() const override { return base_.cores(); }
  std::string source() const override { return base_.source(); }
  std::string link_source() const override { return base_.link_source(); }

 private:
  const plan::Plan& asked(const plan::Plan& plan, const plan::Op& op) const {
    return plan::is_collective(op.kind) ? all_ : plan;
  }

  const TimeModel& base_;
  plan::Plan all_;
};

}  // namespace

std::unique_ptr<const TimeModel> group_times(const TimeModel& base, plan::Plan all) {
  return std::make_unique<GroupTimes>(base, std::move(all));
}

}  // namespace parabench::analytic
