#include "parallelism/plan/rules/compute.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "parallelism/plan/matching.h"
#include "parallelism/plan/state/buffers.h"

namespace parabench::plan {
namespace {

/// How often each shard of each segment computed each piece, over all its holders.
class Tally {
 public:
  explicit Tally(const Plan& plan) : plan_(plan) {
    const std::size_t pieces = plan.segments.size() * plan.replicas * plan.shards * plan.steps * micro_batches(plan);
    for (auto& counts : counts_) counts.assign(pieces, 0);
  }
  void add(const Op& op, const Holding& holding) {
    for (OpKind kind : counted) {
      const bool counts = kind == OpKind::forward          ? op.kind == kind
                          : kind == OpKind::backward_input ? makes_input_gradient(op.kind)
                                                           : makes_weight_gradient(op.kind);
      char& count = of(kind, op.segment, holding.replica, holding.shard, op.step, op.micro_batch);
      if (counts && count < 2) ++count;
    }
  }
  char& of(OpKind kind, SegmentId s, ReplicaId replica, int shard, StepId step, MicroBatchId m) {
    const std::size_t copy = static_cast<std::size_t>(s.value) * plan_.replicas + replica.value;
    const std::size_t row = (copy * plan_.shards + shard) * plan_.steps + step.value;
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
  VersionId version;                                                       ///< latest written
  std::set<VersionId> broadcast;                                           ///< that another rank writes and sends
  int gradient_of = -1;                                                    ///< update that the open gradient adds to
  MicroBatchId gradient_from;                                              ///< latest that made it
  int shares = 0;                                                          ///< of micro-batches since the last update
};

class ComputeWalk {
 public:
  ComputeWalk(const Plan& plan, Rank rank, Tally& tally, Violations& found)
      : plan_(plan),
        rank_(plan.ranks[rank.value]),
        tally_(tally),
        at_{rank},
        found_(found),
        buffers_(buffers_of(plan, rank, plan.room.gradients)),
        room_(buffers_.count, SegmentId(-1)) {
    states_.resize(plan.segments.size());
    const std::size_t pieces = static_cast<std::size_t>(plan.steps) * micro_batches(plan);
    for (SegmentId s : segments_held(plan, rank)) {
      SegmentState& state = states_[s.value];
      for (auto* seen :
           {&state.forward, &state.recomputed, &state.input_gradient, &state.weight_gradient, &state.discards}) {
        seen->assign(pieces, 0);
      }
    }
    for (const Lane& lane : rank_.lanes) {
      if (lane.key.purpose != Payload::parameters) continue;
      for (const Op& op : lane.ops) {
        if (op.kind != OpKind::receive && (op.kind != OpKind::broadcast || op.peer == rank)) continue;
        for (int i = 0; i < op.segments; ++i) states_[op.segment.value + i].broadcast.insert(op.version);
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
      if (!find_holding(plan_, at_.rank, stage_of(plan_, s))) {
        complain("placement", "works on a segment of another stage");
        return;
      }
      if (op.kind == OpKind::update) visit_update(op, s);
      if (adds_share(op)) visit_share(op, s);
      if (adds_sent(op)) visit_gradient(op, states_[s.value]);
      if (is_pass(op.kind)) visit_pass(op, states_[s.value]);
      if (is_pass(op.kind) && !plan_.servers.empty() && updates(plan_, at_.rank, stage_of(plan_, s)))
        complain("placement", "runs on a server");
    }
  }

  std::size_t position(const Op& op) const {
    return static_cast<std::size_t>(op.step.value) * micro_batches(plan_) + op.micro_batch.value;
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
      case OpKind::norms:
      case OpKind::update:
      case OpKind::add:
      case OpKind::average:
      case OpKind::encode:
      case OpKind::project:
      case OpKind::decode:
      case OpKind::send:
      case OpKind::receive:
      case OpKind::all_reduce:
      case OpKind::reduce_scatter:
      case OpKind::all_gather:
      case OpKind::broadcast: return;
    }
    if (makes_weight_gradient(op.kind)) {
      require_once(state.weight_gradient[now]);
      visit_gradient(op, state);
      take_room(op.segment);
      track(-1);
    }
    if (op.kind != OpKind::recompute) {
      check_order(op, state);
      tally_.add(op, *find_holding(plan_, at_.rank, stage_of(plan_, op.segment)));
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
    const StageId stage = stage_of(plan_, op.segment);
    const int of = op.step.value / plan_.versions[stage.value].steps_per_update;
    // A worker has sent those of an earlier step to its server.
    if (state.gradient_of != of && !updates(plan_, at_.rank, stage)) state.gradient_of = -1;
    if (state.gradient_of >= 0 && state.gradient_of != of) {
      complain("gradient", "adds to the gradient of update " + std::to_string(state.gradient_of + 1) + " before it");
    }
    if (op.accumulates != (state.gradient_of >= 0)) {
      complain("gradient", op.accumulates ? "adds to gradients that nobody made" : "drops the gradients made before");
    }
    if (plan_.scatters_pieces && op.accumulates && buffers_.run_of[op.segment.value] >= 0)
      complain("gradient", "adds to gradients of which shares wait for their sum");
    state.gradient_of = of;
    state.gradient_from = op.micro_batch;
  }

  /// Of the sum of what the last pass made of a segment.
  void visit_share(const Op& op, SegmentId s) {
    SegmentState& state = states_[s.value];
    if (state.gradient_of < 0 || state.gradient_from != op.micro_batch)
      complain("gradient", "adds a share of gradients that its micro-batch did not make last");
    if (op.accumulates != (state.shares > 0))
      complain("gradient", op.accumulates ? "adds to shares that nobody made" : "drops the shares made before");
    ++state.shares;
    state.gradient_of = -1;
    leave_room(s);
  }

  /// Until the run is updated, nobody else's gradients fit in its buffer.
  void take_room(SegmentId s) {
    if (plan_.room.gradients == 0 || buffers_.run_of[s.value] < 0) return;
    SegmentId& there = room_[buffers_.of(s)];
    const SegmentId run = buffers_.first(s);
    if (there != run && there.value >= 0)
      complain("room", "makes gradients in place of those of the run from segment " + std::to_string(there.value) +
                           " on, which wait for their update");
    there = run;
  }
  void leave_room(SegmentId s) {
    if (plan_.room.gradients == 0 || buffers_.run_of[s.value] < 0) return;
    SegmentId& there = room_[buffers_.of(s)];
    if (there == buffers_.first(s)) there = SegmentId(-1);
  }

  void check_version(const Op& op, SegmentState& state) {
    const VersionId expected = version_read(plan_, stage_of(plan_, op.segment), op.step);
    const std::string reads = "reads version " + std::to_string(op.version.value);
    // What comes by broadcast is awaited by whoever reads it first.
    if (op.version == expected && op.version > state.version && state.broadcast.contains(op.version)) {
      state.version = op.version;
      state.gradient_of = -1;
    }
    if (op.version != expected) {
      complain("version", reads + ", expected " + std::to_string(expected.value));
    } else if (op.version > state.version) {
      complain("version", reads + " before it is written");
    } else if (op.version.value <= state.version.value - rank_.weight_versions) {
      complain("version", reads + ", which update " + std::to_string(state.version.value) + " has overwritten");
    }
  }

  void visit_update(const Op& op, SegmentId s) {
    SegmentState& state = states_[s.value];
    const StageId stage = stage_of(plan_, s);
    if (!is_update_due(plan_, stage, op.step)) complain("version", "comes before all steps of its update have ended");
    if (op.version <= state.version) complain("exactly once", "updates a segment again");
    if (op.version != updates_by(plan_, stage, op.step) || op.version.value != state.version.value + 1) {
      complain("version", "writes version " + std::to_string(op.version.value) + " after version " +
                              std::to_string(state.version.value));
    }
    if (plan_.scatters_pieces && op.group.value >= 0 && state.shares != micro_batches(plan_))
      complain("gradient", "comes before the shares of all micro-batches");
    state.version = op.version;
    state.gradient_of = -1;
    state.shares = 0;
    leave_room(s);
  }

  const Plan& plan_;
  const RankProgram& rank_;
  Tally& tally_;
  OpRef at_;
  Violations& found_;
  std::vector<SegmentState> states_;  ///< by segment
  Buffers buffers_;                   ///< for gradients
  std::vector<SegmentId> room_;       ///< by buffer: the first segment of the run whose gradients it has; -1: none
  int in_flight_ = 0;
};

/// "rank 1", "ranks 0, 1": those on which a replica's pieces may pass a shard of a stage.
std::string places(const Plan& plan, StageId stage, ReplicaId replica, int shard) {
  std::string text;
  int ranks = 0;
  for (Rank r : holders(plan, stage, shard)) {
    if (find_holding(plan, r, stage)->replica != replica) continue;
    if (ranks++ > 0) text += ", ";
    text += std::to_string(r.value);
  }
  return (ranks == 1 ? "rank " : "ranks ") + text;
}

/// Every piece passed every shard of every segment once, somewhere.
class Completeness {
 public:
  Completeness(const Plan& plan, Tally& tally, Violations& found) : plan_(plan), tally_(tally), found_(found) {}

  void check() {
    for (SegmentId s; s.value < std::ssize(plan_.segments); ++s) {
      for (ReplicaId replica; replica.value < plan_.replicas; ++replica) {
        for (int shard = 0; shard < plan_.shards; ++shard) check(s, replica, shard);
      }
    }
  }

 private:
  void check(SegmentId s, ReplicaId replica, int shard) {
    for (StepId step; step.value < plan_.steps; ++step) {
      for (MicroBatchId m; m.value < micro_batches(plan_); ++m) {
        for (OpKind kind : Tally::counted) {
          const int count = tally_.of(kind, s, replica, shard, step, m);
          if (count == 1) continue;
          const Op op = pass(kind, s, m, step, VersionId(0));
          found_.push_back({{},
                            "exactly once",
                            to_text(op) + " of step " + std::to_string(step.value) +
                                (count == 0 ? " is missing on " : " runs more than once on ") +
                                places(plan_, stage_of(plan_, s), replica, shard)});
        }
      }
    }
  }

  const Plan& plan_;
  Tally& tally_;
  Violations& found_;
};

}  // namespace

void check_compute(const Plan& plan, Violations& found) {
  Tally tally(plan);
  for (int r = 0; r < static_cast<int>(plan.ranks.size()); ++r) {
    ComputeWalk(plan, Rank(r), tally, found).check();
  }
  Completeness(plan, tally, found).check();
}

}  // namespace parabench::plan
