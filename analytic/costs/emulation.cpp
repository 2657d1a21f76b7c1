#include "analytic/costs/emulation.h"

#include <utility>

namespace parabench::analytic {
namespace {

class ExclusiveTimes final : public TimeModel {
 public:
  explicit ExclusiveTimes(std::unique_ptr<const TimeModel> shared) : shared_(std::move(shared)) {}
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int) const override {
    return shared_->parts(plan, rank, op, 1);
  }
  double deviation_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int) const override {
    return shared_->deviation_s(plan, rank, op, 1);
  }
  Link link(const plan::Plan& plan) const override { return shared_->link(plan); }
  std::string assumption(const plan::Plan& plan) const override { return shared_->assumption(plan); }
  int cores() const override { return 0; }
  std::string source() const override { return shared_->source(); }

 private:
  std::unique_ptr<const TimeModel> shared_;
};

}  // namespace

std::unique_ptr<const TimeModel> exclusive_times(std::unique_ptr<const TimeModel> shared) {
  return std::make_unique<ExclusiveTimes>(std::move(shared));
}

plan::Durations durations(const plan::Plan& plan, const TimeModel& time) {
  plan::Durations result;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    auto& lanes = result.emplace_back();
    for (const plan::Lane& lane : plan.ranks[r].lanes) {
      auto& seconds = lanes.emplace_back();
      for (const plan::Op& op : lane.ops) seconds.push_back(time.seconds(plan, Rank(static_cast<int>(r)), op, 1));
    }
  }
  return result;
}

}  // namespace parabench::analytic
