#include <algorithm>
#include <optional>

#include "parallelism/plan/matching.h"
#include "parallelism/plan/rules.h"

namespace parabench {
namespace {

/// What a walk along the compute lane knows about one segment.
struct SegmentState {
  std::vector<char> forward, backward;   ///< [step * micro-batches + m] has run
  std::vector<int> updates, reductions;  ///< [step] how often
  int last_forward = -1, last_backward = -1;
  int version = 0;                 ///< latest version written
  std::optional<int> gradient_of;  ///< step whose gradient waits for its update
};

class ComputeWalk {
 public:
  ComputeWalk(const Plan& plan, Rank rank, Violations& found)
      : plan_(plan),
        rank_(plan.ranks[rank.value]),
        at_{rank, Lane::compute, 0},
        found_(found),
        range_(segments_of(plan, rank_.stage)) {
    SegmentState fresh;
    fresh.forward.assign(plan.steps * micro_batches(plan), 0);
    fresh.backward = fresh.forward;
    fresh.updates.assign(plan.steps, 0);
    fresh.reductions = fresh.updates;
    states_.assign(range_.last.value - range_.first.value + 1, fresh);
  }

  void check() {
    for (Lane lane : {Lane::compute, Lane::collectives}) {
      const auto& ops = rank_.lane(lane);
      for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
        at_.lane = lane;
        at_.index = i;
        visit(ops[i]);
      }
    }
    check_complete();
  }

 private:
  void complain(std::string rule, const std::string& what) {
    found_.push_back({at_, std::move(rule), describe(plan_, at_) + ' ' + what});
  }

  void visit(const Op& op) {
    for (int i = 0; i < op.segments; ++i) {
      const int local = op.segment.value + i - range_.first.value;
      if (local < 0 || local >= static_cast<int>(states_.size())) {
        complain("placement", "works on a segment of another stage");
        return;
      }
      visit(op, states_[local]);
    }
  }

  void visit(const Op& op, SegmentState& state) {
    switch (op.kind) {
      case OpKind::forward: return visit_forward(op, state);
      case OpKind::backward: return visit_backward(op, state);
      case OpKind::update: return visit_update(op, state);
      case OpKind::all_reduce:
        if (++state.reductions[op.step] > 1) complain("exactly once", "reduces a segment again");
        return;
      case OpKind::send_forward:
      case OpKind::recv_forward:
      case OpKind::send_backward:
      case OpKind::recv_backward: return;
    }
  }

  int position(const Op& op) const { return op.step * micro_batches(plan_) + op.micro_batch.value; }

  void visit_forward(const Op& op, SegmentState& state) {
    visit_once(op, state.forward, state.last_forward);
    check_version(op, state);
  }

  void visit_backward(const Op& op, SegmentState& state) {
    if (!state.forward[position(op)]) complain("order", "comes before its forward");
    visit_once(op, state.backward, state.last_backward);
    check_version(op, state);
    if (state.gradient_of && *state.gradient_of != op.step) {
      complain("gradient", "adds to the gradient of step " + std::to_string(*state.gradient_of) + " before its update");
    }
    state.gradient_of = op.step;
  }

  void visit_once(const Op& op, std::vector<char>& seen, int& last) {
    const int now = position(op);
    if (seen[now]) {
      complain("exactly once", "runs again");
    } else if (now < last) {
      complain("first in, first out", "comes after a later micro-batch");
    }
    seen[now] = 1;
    last = std::max(last, now);
  }

  /// A synchronous step t reads version t. An asynchronous mini-batch n (from 1) reads max(0, n - (stages - s)).
  int expected_version(int step) const {
    return plan_.asynchronous ? std::max(0, step + 1 - (plan_.stages - rank_.stage.value)) : step;
  }

  void check_version(const Op& op, const SegmentState& state) {
    const int expected = expected_version(op.step);
    const std::string reads = "reads version " + std::to_string(op.version);
    if (op.version != expected) {
      complain("version", reads + ", expected " + std::to_string(expected));
    } else if (op.version > state.version) {
      complain("version", reads + " before it is written");
    } else if (op.version <= state.version - rank_.weight_versions) {
      complain("version", reads + ", which update " + std::to_string(state.version) + " has overwritten");
    }
  }

  void visit_update(const Op& op, SegmentState& state) {
    if (++state.updates[op.step] > 1) complain("exactly once", "updates a segment again");
    if (op.version != op.step + 1 || op.version != state.version + 1) {
      complain("version",
               "writes version " + std::to_string(op.version) + " after version " + std::to_string(state.version));
    }
    state.version = op.version;
    state.gradient_of.reset();
  }

  void check_complete() {
    for (int local = 0; local < static_cast<int>(states_.size()); ++local) {
      const SegmentState& state = states_[local];
      const SegmentId segment(range_.first.value + local);
      const int pieces = micro_batches(plan_);
      const bool replicated = plan_.replicas > 1;
      for (int step = 0; step < plan_.steps; ++step) {
        for (MicroBatchId m; m.value < pieces; ++m) {
          if (!state.forward[step * pieces + m.value]) missing(forward(segment, m, step, 0));
          if (!state.backward[step * pieces + m.value]) missing(backward(segment, m, step, 0));
        }
        if (state.updates[step] == 0) missing(update(segment, 1, step, 0));
        if (replicated && state.reductions[step] == 0) missing(all_reduce(segment, 1, step));
        if (!replicated && state.reductions[step] > 0) {
          found_.push_back({{at_.rank, Lane::collectives, 0},
                            "reduction",
                            "segment " + std::to_string(segment.value) + " is reduced without replicas on rank " +
                                std::to_string(at_.rank.value)});
        }
      }
    }
  }

  void missing(const Op& op) {
    found_.push_back({{at_.rank, lane_of(op.kind), 0},
                      "exactly once",
                      to_text(op) + " of step " + std::to_string(op.step) + " is missing on rank " +
                          std::to_string(at_.rank.value)});
  }

  const Plan& plan_;
  const RankProgram& rank_;
  OpRef at_;
  Violations& found_;
  SegmentRange range_;
  std::vector<SegmentState> states_;
};

}  // namespace

void check_compute(const Plan& plan, Rank rank, Violations& found) { ComputeWalk(plan, rank, found).check(); }

}  // namespace parabench
