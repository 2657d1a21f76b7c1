#include "parallelism/plan/lowering.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.h"

namespace parabench {
namespace {

class Lowering {
 public:
  explicit Lowering(Plan plan) : plan_(std::move(plan)), state_(plan_.ranks.size()) {
    for (std::size_t r = 0; r < plan_.ranks.size(); ++r) {
      const RankProgram& rank = plan_.ranks[r];
      if (rank.stage.value > 0) state_[r].behind = rank_of(plan_, StageId(rank.stage.value - 1), rank.replica);
      if (rank.stage.value + 1 < plan_.stages) {
        state_[r].ahead = rank_of(plan_, StageId(rank.stage.value + 1), rank.replica);
      }
    }
  }

  Plan run() {
    bool progress = true;
    while (progress) {
      progress = false;
      for (int r = 0; r < static_cast<int>(state_.size()); ++r) progress |= visit(Rank(r));
    }
    for (std::size_t r = 0; r < state_.size(); ++r) require_finished(r);
    return std::move(plan_);
  }

 private:
  /// An arrived message: kind of the receive, segment, micro-batch, step.
  using Arrival = std::tuple<OpKind, SegmentId, MicroBatchId, int>;
  struct RankState {
    std::size_t next = 0;
    Rank ahead, behind;
    std::set<Arrival> arrived;
  };

  bool crosses(SegmentId from, SegmentId to) const {
    return to.value >= 0 && to.value < static_cast<int>(plan_.segments.size()) &&
           plan_.segments[from.value].stage != plan_.segments[to.value].stage;
  }

  bool visit(Rank r) {
    RankState& state = state_[r.value];
    const auto& ops = plan_.ranks[r.value].lane(Lane::compute);
    if (state.next == ops.size() || !ready(state, ops[state.next])) return false;
    emit(r, ops[state.next++]);
    return true;
  }

  bool ready(const RankState& state, const Op& op) const {
    const SegmentId s = op.segment, before(s.value - 1), after(s.value + 1);
    if (op.kind == OpKind::forward && crosses(s, before)) {
      return state.arrived.contains({OpKind::recv_forward, s, op.micro_batch, op.step});
    }
    if (op.kind == OpKind::backward && crosses(s, after)) {
      return state.arrived.contains({OpKind::recv_backward, s, op.micro_batch, op.step});
    }
    return true;
  }

  void emit(Rank r, const Op& op) {
    const SegmentId s = op.segment, before(s.value - 1), after(s.value + 1);
    const RankState& state = state_[r.value];
    if (op.kind == OpKind::forward && crosses(s, after)) {
      place(r, send_forward(s, op.micro_batch, op.step, state.ahead), recv_forward(after, op.micro_batch, op.step, r));
    }
    if (op.kind == OpKind::backward && crosses(s, before)) {
      place(r, send_backward(s, op.micro_batch, op.step, state.behind),
            recv_backward(before, op.micro_batch, op.step, r));
    }
  }

  void place(Rank r, const Op& send, const Op& receive) {
    plan_.ranks[r.value].lane(lane_of(send.kind)).push_back(send);
    plan_.ranks[send.peer.value].lane(lane_of(receive.kind)).push_back(receive);
    state_[send.peer.value].arrived.insert({receive.kind, receive.segment, receive.micro_batch, receive.step});
  }

  void require_finished(std::size_t r) const {
    const auto& ops = plan_.ranks[r].lane(Lane::compute);
    if (state_[r].next == ops.size()) return;
    throw usage_error("schedule", to_text(ops[state_[r].next]) + " on rank " + std::to_string(r),
                      "an order in which its input arrives");
  }

  Plan plan_;
  std::vector<RankState> state_;
};

}  // namespace

Plan add_messages(Plan compute_only) { return Lowering(std::move(compute_only)).run(); }

}  // namespace parabench
