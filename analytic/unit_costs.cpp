#include "analytic/cost_model.h"

namespace parabench {
namespace {

/// Segments of one stage are adjacent, so its neighbours are found from the segment itself.
int segments_of_stage(const Plan& plan, SegmentId segment) {
  const auto& segments = plan.segments;
  const StageId stage = segments[segment.value].stage;
  int first = segment.value, last = segment.value;
  while (first > 0 && segments[first - 1].stage == stage) --first;
  while (last + 1 < static_cast<int>(segments.size()) && segments[last + 1].stage == stage) ++last;
  return last - first + 1;
}

class UnitCosts final : public CostModel {
 public:
  double seconds(const Plan& plan, Rank, const Op& op, int) const override {
    switch (op.kind) {
      case OpKind::forward: return 1.0 / segments_of_stage(plan, op.segment);
      case OpKind::backward: return 2.0 / segments_of_stage(plan, op.segment);
      case OpKind::send_forward:
      case OpKind::recv_forward:
      case OpKind::send_backward:
      case OpKind::recv_backward:
      case OpKind::all_reduce:
      case OpKind::update: return 0;
    }
    return 0;
  }
  std::int64_t saved_bytes(const Plan&, Rank, const Op&) const override { return 0; }
  std::int64_t peak_bytes(const Plan&, Rank, const Op&) const override { return 0; }
  int cores() const override { return 0; }
  std::string source() const override { return "unit"; }
};

}  // namespace

std::unique_ptr<CostModel> unit_costs() { return std::make_unique<UnitCosts>(); }

}  // namespace parabench
