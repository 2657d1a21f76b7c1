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

class LinkTimes final : public TimeModel {
 public:
  LinkTimes(std::unique_ptr<const TimeModel> passes, const Link& link, Sizes sizes)
      : passes_(std::move(passes)), link_(link), sizes_(std::move(sizes)) {}
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    if (plan::is_message(op.kind)) return hops(1, link_sharers(plan, op) * bytes(plan, rank, op));
    if (!plan::is_collective(op.kind)) return passes_->parts(plan, rank, op, busy_ranks);
    const auto p = static_cast<double>(plan.groups[op.group.value].ranks.size());
    return share_of_all_reduce(op.kind) * hops(2 * (p - 1), bytes(plan, rank, op) / p);
  }
  double deviation_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    const bool moves = plan::is_message(op.kind) || plan::is_collective(op.kind);
    return moves ? 0 : passes_->deviation_s(plan, rank, op, busy_ranks);
  }
  Link link(const plan::Plan&) const override { return link_; }
  std::string assumption(const plan::Plan& plan) const override { return passes_->assumption(plan); }
  int cores() const override { return passes_->cores(); }
  std::string source() const override { return passes_->source(); }
  std::string link_source() const override { return "given"; }

 private:
  double bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const {
    return static_cast<double>(sizes_.payload_bytes(plan, rank, op));
  }
  TimeParts hops(double count, double bytes_each) const {
    return {.latency = count * link_.latency_s, .transfer = count * bytes_each / link_.bytes_per_s};
  }

  std::unique_ptr<const TimeModel> passes_;
  Link link_;
  Sizes sizes_;
};

}  // namespace

std::unique_ptr<const TimeModel> over_link(std::unique_ptr<const TimeModel> passes, const Link& link, Sizes sizes) {
  return std::make_unique<LinkTimes>(std::move(passes), link, std::move(sizes));
}

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
