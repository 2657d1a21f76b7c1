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
  std::string link_assumption(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    return shared_->link_assumption(plan, rank, op);
  }
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
    if (!moves(op)) return passes_->parts(plan, rank, op, busy_ranks);
    const std::int64_t payload = sizes_.payload_bytes(plan, rank, op);
    const auto bytes = static_cast<double>(payload);
    if (plan::is_message(op.kind)) return {.latency = link_.latency_s, .transfer = bytes / link_.bytes_per_s};
    const auto ranks = static_cast<int>(plan.groups[op.group.value].ranks.size());
    const ReduceKind reduce = algorithm_of(plan.spec.reduce, {.ranks = ranks, .hosts = ranks, .most = 1},
                                           op.kind == plan::OpKind::all_reduce, payload);
    const double whole = all_reduce_by(reduce, ranks, bytes, link_);
    const double latency = all_reduce_by(reduce, ranks, 0, link_);
    return share_of_all_reduce(op.kind) * TimeParts{.latency = latency, .transfer = whole - latency};
  }
  double deviation_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    return moves(op) ? 0 : passes_->deviation_s(plan, rank, op, busy_ranks);
  }
  Link link(const plan::Plan&) const override { return link_; }
  std::string assumption(const plan::Plan& plan) const override { return passes_->assumption(plan); }
  std::string link_assumption(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    return passes_->link_assumption(plan, rank, op);
  }
  int cores() const override { return passes_->cores(); }
  bool shares_links() const override { return true; }
  std::string source() const override { return passes_->source(); }
  std::string link_source() const override { return "given"; }

 private:
  static bool moves(const plan::Op& op) { return plan::is_message(op.kind) || plan::is_collective(op.kind); }

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
      auto& durations = lanes.emplace_back();
      for (const plan::Op& op : lane.ops) {
        const TimeParts parts = time.parts(plan, Rank(static_cast<int>(r)), op, 1);
        const bool shares = time.shares_links() && lane.key.kind != plan::LaneKind::compute;
        durations.push_back({parts.total(), shares ? parts.transfer : 0});
      }
    }
  }
  return result;
}

}  // namespace parabench::analytic
