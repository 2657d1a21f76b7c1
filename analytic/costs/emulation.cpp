#include "analytic/costs/emulation.h"

#include <utility>

#include "analytic/costs/times_of.h"

namespace parabench::analytic {
namespace {

class ExclusiveTimes final : public TimesOf {
 public:
  explicit ExclusiveTimes(std::unique_ptr<const TimeModel> shared) : TimesOf(std::move(shared)) {}
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int) const override {
    return base_.parts(plan, rank, op, 1);
  }
  double deviation_s(const plan::Plan& plan, Rank rank, const plan::Op& op, int) const override {
    return base_.deviation_s(plan, rank, op, 1);
  }
  int cores() const override { return 0; }
};

class LinkTimes final : public TimesOf {
 public:
  LinkTimes(std::unique_ptr<const TimeModel> passes, const Link& link, Sizes sizes)
      : TimesOf(std::move(passes)), link_(link), sizes_(std::move(sizes)) {}
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    if (!moves(op)) return base_.parts(plan, rank, op, busy_ranks);
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
    return moves(op) ? 0 : base_.deviation_s(plan, rank, op, busy_ranks);
  }
  // What is known of the machine's own messages holds for none of these.
  BesideComputing beside_computing(const plan::Plan&, Rank, const plan::Op&) const override { return {}; }
  Uplinks uplinks() const override { return {}; }
  Link link(const plan::Plan&) const override { return link_; }
  bool shares_links() const override { return true; }
  std::string link_source() const override { return "given"; }

 private:
  static bool moves(const plan::Op& op) { return plan::is_message(op.kind) || plan::is_collective(op.kind); }

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
