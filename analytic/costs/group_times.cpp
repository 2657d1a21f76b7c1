#include "analytic/costs/group_times.h"

#include <utility>

#include "analytic/costs/times_of.h"

namespace parabench::analytic {
namespace {

class GroupTimes final : public TimesOf {
 public:
  GroupTimes(const TimeModel& base, plan::Plan all) : TimesOf(base), all_(std::move(all)) {}

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
  std::string link_assumption(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    return base_.link_assumption(asked(plan, op), rank, op);
  }

 private:
  const plan::Plan& asked(const plan::Plan& plan, const plan::Op& op) const {
    return plan::is_collective(op.kind) ? all_ : plan;
  }

  plan::Plan all_;
};

}  // namespace

std::unique_ptr<const TimeModel> group_times(const TimeModel& base, plan::Plan all) {
  return std::make_unique<GroupTimes>(base, std::move(all));
}

}  // namespace parabench::analytic
