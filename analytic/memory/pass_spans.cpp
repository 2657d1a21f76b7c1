#include "analytic/memory/pass_spans.h"

namespace parabench::analytic {

PassSpans::PassSpans(const plan::Plan& plan, Rank rank, std::span<const std::vector<plan::Span>> spans)
    : steps_(plan.steps), micro_batches_(plan::micro_batches(plan)), row_(plan.segments.size(), -1) {
  const std::vector<SegmentId> held = plan::segments_held(plan, rank);
  for (int row = 0; row < std::ssize(held); ++row) row_[held[row].value] = row;
  for (auto& of_kind : spans_) of_kind.resize(held.size() * steps_ * micro_batches_);
  const auto& lanes = plan.ranks[rank.value].lanes;
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    const bool sends = lanes[l].key.kind == plan::LaneKind::send && plan::is_of_micro_batch(lanes[l].key.purpose);
    if (!sends && lanes[l].key.kind != plan::LaneKind::compute) continue;
    for (std::size_t i = 0; i < lanes[l].ops.size(); ++i) {
      const plan::Op& op = lanes[l].ops[i];
      if (sends ? op.port > 0 : !plan::is_pass(op.kind)) continue;
      const int row = sends ? row_of(op.payload) : static_cast<int>(op.kind);
      const plan::Span*& known = spans_[row][place(op, op.segment.value)];
      if (!known) known = &spans[l][i];
    }
  }
}

}  // namespace parabench::analytic
