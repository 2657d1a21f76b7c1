#include <algorithm>
#include <array>
#include <utility>

#include "parallelism/plan/matching.h"
#include "parallelism/plan/rules/rules.h"

namespace parabench {
namespace {

/// How often each segment computed each piece, over all holders of its stage.
class Tally {
 public:
  explicit Tally(const Plan& plan) : plan_(plan) {
    const std::size_t pieces = plan.segments.size() * plan.replicas * plan.steps * micro_batches(plan);
    for (auto& counts : counts_) counts.assign(pieces, 0);
  }
  void add(const Op& op, int replica) {
    for (OpKind kind : counted) {
      const bool counts = kind == OpKind::forward          ? op.kind == kind
                          : kind == OpKind::backward_input ? makes_input_gradient(op.kind)
                                                           : makes_weight_gradient(op.kind);
      char& count = of(kind, op.segment, replica, op.step, op.micro_batch);
      if (counts && count < 2) ++count;
    }
  }
  char& of(OpKind kind, SegmentId s, int replica, int step, MicroBatchId m) {
    const std::size_t row = (static_cast<std::size_t>(s.value) * plan_.replicas + replica) * plan_.steps + step;
    const auto place = std::ranges::find(counted, kind) - counted.begin();
    return counts_[place][row * micro_batches(plan_) + m.value];
  }
  /// A B is an I and a W.
  static constexpr std::array<OpKind, 3> counted = {OpKind::forward, OpKind::backward_input, OpKind::backward_weight};

 private:
  const Plan& plan_;
  std::array<std::vector<char>, 3> counts_;
};

/// What a walk along one compute lane knows about one segment.
struct SegmentState {
  std::vector<char> forward, recomputed, input_gradient, weight_gradient;  ///< [step * micro-batches + m] has run here
  std::vector<char> discards;                                              ///< its forward kept its input alone
  std::array<int, 4> last = {-1, -1, -1, -1};                              ///< latest piece of each kind of pass
  int version = 0;                                                         ///< latest written
  int gradient_of = -1;                                                    ///< update that the open gradient adds to
};

class ComputeWalk {
 public:
  ComputeWalk(const Plan& plan, Rank rank, Tally& tally, Violations& found)
      : plan_(plan), rank_(plan.ranks[rank.value]), tally_(tally), at_{rank}, found_(found) {
    states_.resize(plan.segments.size());
    const std::size_t pieces = static_cast<std::size_t>(plan.steps) * micro_batches(plan);
    for (SegmentId s : segments_held(plan, rank)) {
      SegmentState& state = states_[s.value];
      for (auto* seen :
           {&state.forward, &state.recomputed, &state.input_gradient, &state.weight_gradient, &state.discards}) {
        seen->assign(pieces, 0);
      }
    }
  }

  void check() {
    const auto& ops = rank_.compute();
    for (at_.index = 0; at_.index < static_cast<int>(ops.size()); ++at_.index) visit(ops[at_.index]);
  }

 private:
  void complain(std::string rule, const std::string& what) {
    found_.push_back({at_, std::move(rule), describe(plan_, at_) + ' ' + what});
  }

  void visit(const Op& op) {
    for (int i = 0; i < op.segments; ++i) {
      const SegmentId s(op.segment.value + i);
      if (replica_of(plan_, at_.rank, s) < 0) {
        complain("placement", "works on a segment of another stage");
        return;
      }
      if (op.kind == OpKind::update) {
        visit_update(op, s);
      } else {
        visit_pass(op, states_[s.value]);
      }
    }
  }

  std::size_t position(const Op& op) const {
    return static_cast<std::size_t>(op.step) * micro_batches(plan_) + op.micro_batch.value;
  }

  void visit_pass(const Op& op, SegmentState& state) {
    const std::size_t now = position(op);
    switch (op.kind) {
      case OpKind::forward:
        require_once(state.forward[now]);
        state.discards[now] = op.discards;
        track(+1);
        break;
      case OpKind::recompute:
        if (!state.forward[now] || !state.discards[now]) complain("order", "has no forward that discarded its graph");
        require_once(state.recomputed[now]);
        break;
      case OpKind::backward:
      case OpKind::backward_input:
        if (!state.forward[now]) complain("order", "comes before its forward");
        if (state.discards[now] && !state.recomputed[now]) complain("order", "comes before its recompute");
        require_once(state.input_gradient[now]);
        break;
      case OpKind::backward_weight:
        if (!state.input_gradient[now]) complain("order", "comes before its input gradient");
        break;
      case OpKind::send_forward:
      case OpKind::recv_forward:
      case OpKind::send_backward:
      case OpKind::recv_backward:
      case OpKind::all_reduce:
      case OpKind::update: return;
    }
    if (makes_weight_gradient(op.kind)) {
      require_once(state.weight_gradient[now]);
      visit_gradient(op, state);
      track(-1);
    }
    if (op.kind != OpKind::recompute) {
      check_order(op, state);
      tally_.add(op, replica_of(plan_, at_.rank, op.segment));
    }
    check_version(op, state);
  }

  void require_once(char& seen) {
    if (seen) complain("exactly once", "runs again");
    seen = 1;
  }

  void check_order(const Op& op, SegmentState& state) {
    int& last = state.last[static_cast<int>(op.kind)];
    const int now = static_cast<int>(position(op));
    if (plan_.in_order && now < last) complain("first in, first out", "comes after a later micro-batch");
    last = std::max(last, now);
  }

  /// Counted in stages and micro-batches: by the first segment of a stage.
  void track(int change) {
    const Op& op = at(plan_, at_);
    if (op.segment != segments_of(plan_, stage_of(plan_, op.segment)).first) return;
    in_flight_ += change;
    if (change > 0 && rank_.in_flight > 0 && in_flight_ > rank_.in_flight) {
      complain("in flight", "is number " + std::to_string(in_flight_) + " in flight, at most " +
                                std::to_string(rank_.in_flight) + " are declared");
    }
  }

  void visit_gradient(const Op& op, SegmentState& state) {
    const int of = op.step / plan_.versions[stage_of(plan_, op.segment).value].steps_per_update;
    if (state.gradient_of >= 0 && state.gradient_of != of) {
      complain("gradient", "adds to the gradient of update " + std::to_string(state.gradient_of + 1) + " before it");
    }
    if (op.accumulates != (state.gradient_of >= 0)) {
      complain("gradient", op.accumulates ? "adds to gradients that nobody made" : "drops the gradients made before");
    }
    state.gradient_of = of;
  }

  void check_version(const Op& op, const SegmentState& state) {
    const int expected = version_read(plan_, stage_of(plan_, op.segment), op.step);
    const std::string reads = "reads version " + std::to_string(op.version);
    if (op.version != expected) {
      complain("version", reads + ", expected " + std::to_string(expected));
    } else if (op.version > state.version) {
      complain("version", reads + " before it is written");
    } else if (op.version <= state.version - rank_.weight_versions) {
      complain("version", reads + ", which update " + std::to_string(state.version) + " has overwritten");
    }
  }

  void visit_update(const Op& op, SegmentId s) {
    SegmentState& state = states_[s.value];
    const StageId stage = stage_of(plan_, s);
    if (!is_update_due(plan_, stage, op.step)) complain("version", "comes before all steps of its update have ended");
    if (op.version <= state.version) complain("exactly once", "updates a segment again");
    if (op.version != updates_by(plan_, stage, op.step) || op.version != state.version + 1) {
      complain("version",
               "writes version " + std::to_string(op.version) + " after version " + std::to_string(state.version));
    }
    state.version = op.version;
    state.gradient_of = -1;
  }

  const Plan& plan_;
  const RankProgram& rank_;
  Tally& tally_;
  OpRef at_;
  Violations& found_;
  std::vector<SegmentState> states_;  ///< by segment
  int in_flight_ = 0;
};

/// "rank 1", "ranks 0, 1": those on which a replica's pieces may pass a stage.
std::string places(const Plan& plan, StageId stage, int replica) {
  std::string text;
  int ranks = 0;
  for (Rank r : holders(plan, stage)) {
    if (replica_of(plan, r, segments_of(plan, stage).first) != replica) continue;
    if (ranks++ > 0) text += ", ";
    text += std::to_string(r.value);
  }
  return (ranks == 1 ? "rank " : "ranks ") + text;
}

/// Every piece passed every segment once, somewhere.
void check_complete(const Plan& plan, Tally& tally, Violations& found) {
  for (SegmentId s; s.value < std::ssize(plan.segments); ++s) {
    for (int replica = 0; replica < plan.replicas; ++replica) {
      for (int step = 0; step < plan.steps; ++step) {
        for (MicroBatchId m; m.value < micro_batches(plan); ++m) {
          for (OpKind kind : Tally::counted) {
            const int count = tally.of(kind, s, replica, step, m);
            if (count == 1) continue;
            const Op op = pass(kind, s, m, step, 0);
            found.push_back({{},
                             "exactly once",
                             to_text(op) + " of step " + std::to_string(step) +
                                 (count == 0 ? " is missing on " : " runs more than once on ") +
                                 places(plan, stage_of(plan, s), replica)});
          }
        }
      }
    }
  }
}

/// Every segment of the rank is updated when it is due, after a reduction where its stage has several holders.
void check_updates(const Plan& plan, Rank rank, Violations& found) {
  const RankProgram& program = plan.ranks[rank.value];
  std::vector<std::vector<int>> updates(plan.segments.size(), std::vector<int>(plan.steps, 0));
  auto reductions = updates;
  for (const Lane& lane : program.lanes) {
    for (const Op& op : lane.ops) {
      for (int i = 0; i < op.segments && is_over_run(op.kind); ++i) {
        ++(op.kind == OpKind::update ? updates : reductions)[op.segment.value + i][op.step];
      }
    }
  }
  const auto complain = [&](const Op& op, const std::string& what) {
    found.push_back(
        {{rank},
         "exactly once",
         to_text(op) + " of step " + std::to_string(op.step) + ' ' + what + " on rank " + std::to_string(rank.value)});
  };
  for (const Holding& h : program.holds) {
    const bool shared = holders(plan, h.stage).size() > 1;
    const auto [first, last] = segments_of(plan, h.stage);
    for (SegmentId s = first; s <= last; ++s) {
      for (int step = 0; step < plan.steps; ++step) {
        const int due = is_update_due(plan, h.stage, step), reduced = reductions[s.value][step];
        if (updates[s.value][step] < due) complain(update(s, 1, step, 0), "is missing");
        if (reduced < (shared ? due : 0)) complain(all_reduce(s, 1, step), "is missing");
        if (reduced > (shared ? due : 0)) complain(all_reduce(s, 1, step), "is one too many");
      }
    }
  }
}

}  // namespace

void check_compute(const Plan& plan, Violations& found) {
  Tally tally(plan);
  for (int r = 0; r < static_cast<int>(plan.ranks.size()); ++r) {
    ComputeWalk(plan, Rank(r), tally, found).check();
    check_updates(plan, Rank(r), found);
  }
  check_complete(plan, tally, found);
}

}  // namespace parabench
