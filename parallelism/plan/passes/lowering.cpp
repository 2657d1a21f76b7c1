#include "parallelism/plan/passes/lowering.h"

#include "parallelism/plan/skip_ports.h"

namespace parabench::plan {
namespace {

class Lowering {
 public:
  explicit Lowering(Plan plan) : plan_(std::move(plan)), owners_(plan_), skips_(plan_, owners_) {}

  Plan run() {
    for (int r = 0; r < std::ssize(plan_.ranks); ++r) {
      // By index: placing a message may move the lanes.
      for (std::size_t i = 0; i < plan_.ranks[r].compute().size(); ++i) emit(Rank(r), plan_.ranks[r].compute()[i]);
    }
    return std::move(plan_);
  }

 private:
  void emit(Rank r, Op op) {
    if (op.kind == OpKind::forward && op.segment < last_segment(plan_)) place_boundary(r, op, send_forward);
    if (makes_input_gradient(op.kind) && op.segment > SegmentId(0)) place_boundary(r, op, send_backward);
    if (plan_.skips.empty() || !is_pass(op.kind)) return;
    for (const Op& send : skips_.sends_after(r, op)) place(r, send);
  }

  void place_boundary(Rank r, const Op& op, Op (*send_to)(SegmentId, MicroBatchId, StepId, Rank)) {
    Op send = send_to(op.segment, op.micro_batch, op.step, r);
    send.peer = owner_of(plan_, owners_, r, op, other_segment(send, plan_.skips));
    // Nobody, where a piece passes no rank there: validate() tells.
    if (send.peer != r && send.peer.value >= 0) place(r, send);
  }

  void place(Rank r, const Op& send) {
    const Op receive = receive_of(send, r, plan_.skips);
    plan_.ranks[r.value].lane(lane_of(send)).push_back(send);
    plan_.ranks[send.peer.value].lane(lane_of(receive)).push_back(receive);
  }

  Plan plan_;
  PieceOwners owners_;
  SkipMessages skips_;
};

}  // namespace

Plan add_messages(Plan compute_only) { return Lowering(std::move(compute_only)).run(); }

}  // namespace parabench::plan
