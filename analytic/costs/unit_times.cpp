#include "analytic/costs/unit_times.h"

#include <algorithm>

namespace parabench::analytic {
namespace {

/// What one segment has of a device's work for a micro-batch: as many parts as the device has stages of one pipeline,
/// and these segments. Segments of one stage are adjacent, so its neighbours are found from the segment itself.
double share(const plan::Plan& plan, Rank rank, SegmentId segment) {
  const auto& segments = plan.segments;
  const StageId stage = segments[segment.value].stage;
  int first = segment.value, last = segment.value;
  while (first > 0 && segments[first - 1].stage == stage) --first;
  while (last + 1 < static_cast<int>(segments.size()) && segments[last + 1].stage == stage) ++last;
  const ReplicaId replica = plan::replica_of(plan, rank, segment);
  const auto& holds = plan.ranks[rank.value].holds;
  const auto chunks = std::ranges::count(holds, replica, &plan::Holding::replica);
  return 1.0 / (static_cast<double>(chunks) * (last - first + 1));
}

class UnitTimes final : public TimeModel {
 public:
  explicit UnitTimes(double unit_s) : unit_s_(unit_s) {}
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    return {.compute = seconds(plan, rank, op, busy_ranks)};
  }
  double seconds(const plan::Plan& plan, Rank rank, const plan::Op& op, int) const override {
    switch (op.kind) {
      case plan::OpKind::backward: return 2 * unit_s_ * share(plan, rank, op.segment);
      case plan::OpKind::forward:
      case plan::OpKind::recompute:
      case plan::OpKind::backward_input:
      case plan::OpKind::backward_weight: return unit_s_ * share(plan, rank, op.segment);
      case plan::OpKind::norms:
      case plan::OpKind::update:
      case plan::OpKind::add:
      case plan::OpKind::average:
      case plan::OpKind::encode:
      case plan::OpKind::project:
      case plan::OpKind::decode:
      case plan::OpKind::send:
      case plan::OpKind::receive:
      case plan::OpKind::all_reduce:
      case plan::OpKind::reduce_scatter:
      case plan::OpKind::all_gather:
      case plan::OpKind::broadcast: return 0;
    }
    return 0;
  }
  int cores() const override { return 0; }
  std::string source() const override { return "unit"; }

 private:
  double unit_s_;
};

}  // namespace

std::unique_ptr<const TimeModel> unit_times(double unit_s) { return std::make_unique<UnitTimes>(unit_s); }

}  // namespace parabench::analytic
