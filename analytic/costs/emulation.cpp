#include "analytic/costs/emulation.h"

#include <utility>

namespace parabench {
namespace {

class ExclusiveCosts final : public CostModel {
 public:
  explicit ExclusiveCosts(std::unique_ptr<CostModel> shared) : shared_(std::move(shared)) {}
  double seconds(const Plan& plan, Rank rank, const Op& op, int) const override {
    return shared_->seconds(plan, rank, op, 1);
  }
  double deviation_s(const Plan& plan, Rank rank, const Op& op, int) const override {
    return shared_->deviation_s(plan, rank, op, 1);
  }
  std::int64_t saved_bytes(const Plan& plan, Rank rank, const Op& op) const override {
    return shared_->saved_bytes(plan, rank, op);
  }
  std::int64_t peak_bytes(const Plan& plan, Rank rank, const Op& op) const override {
    return shared_->peak_bytes(plan, rank, op);
  }
  Link link(const Plan& plan) const override { return shared_->link(plan); }
  DeviceOverhead device_overhead(const Plan& plan) const override { return shared_->device_overhead(plan); }
  std::string assumption(const Plan& plan) const override { return shared_->assumption(plan); }
  int cores() const override { return 0; }
  std::string source() const override { return shared_->source(); }

 private:
  std::unique_ptr<CostModel> shared_;
};

}  // namespace

std::unique_ptr<CostModel> exclusive_costs(std::unique_ptr<CostModel> shared) {
  return std::make_unique<ExclusiveCosts>(std::move(shared));
}

Durations durations(const Plan& plan, const CostModel& cost) {
  Durations result;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    auto& lanes = result.emplace_back();
    for (const Lane& lane : plan.ranks[r].lanes) {
      auto& seconds = lanes.emplace_back();
      for (const Op& op : lane.ops) seconds.push_back(cost.seconds(plan, Rank(static_cast<int>(r)), op, 1));
    }
  }
  return result;
}

}  // namespace parabench
