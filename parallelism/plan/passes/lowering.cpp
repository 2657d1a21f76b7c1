#include "parallelism/plan/passes/lowering.h"

#include "parallelism/plan/owners.h"

namespace parabench {
namespace {

class Lowering {
 public:
  explicit Lowering(Plan plan) : plan_(std::move(plan)), owners_(plan_) {}

  Plan run() {
    for (int r = 0; r < std::ssize(plan_.ranks); ++r) {
      // By index: placing a message may move the lanes.
      for (std::size_t i = 0; i < plan_.ranks[r].compute().size(); ++i) emit(Rank(r), plan_.ranks[r].compute()[i]);
    }
    return std::move(plan_);
  }

 private:
  void emit(Rank r, Op op) {
    if (op.kind == OpKind::forward && op.segment < last_segment(plan_)) place(r, op, send_forward);
    if (makes_input_gradient(op.kind) && op.segment > SegmentId(0)) place(r, op, send_backward);
  }

  /// Of the neighbour's part of the same piece; the rank itself where nobody computes it (validate() tells).
  Rank owner(Rank r, const Op& op, SegmentId neighbour) const {
    const StageId stage = stage_of(plan_, neighbour);
    if (stage == stage_of(plan_, op.segment)) return r;
    Holding there = *find_holding(plan_, r, stage_of(plan_, op.segment));
    there.stage = stage;
    const Rank found = owners_.of(there, op.micro_batch, op.step);
    return found.value < 0 ? r : found;
  }

  void place(Rank r, const Op& op, Op (*send_to)(SegmentId, MicroBatchId, StepId, Rank)) {
    Op send = send_to(op.segment, op.micro_batch, op.step, r);
    send.peer = owner(r, op, other_segment(send));
    if (send.peer == r) return;
    const Op receive = receive_of(send, r);
    plan_.ranks[r.value].lane(lane_of(send)).push_back(send);
    plan_.ranks[send.peer.value].lane(lane_of(receive)).push_back(receive);
  }

  Plan plan_;
  PieceOwners owners_;
};

}  // namespace

Plan add_messages(Plan compute_only) { return Lowering(std::move(compute_only)).run(); }

}  // namespace parabench
