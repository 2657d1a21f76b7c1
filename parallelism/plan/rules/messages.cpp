#include "parallelism/plan/rules/messages.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "parallelism/plan/matching.h"
#include "parallelism/plan/owners.h"
#include "parallelism/plan/skip_ports.h"

namespace parabench::plan {
namespace {

class MessageCheck {
 public:
  MessageCheck(const Plan& plan, Violations& found)
      : plan_(plan), owners_(plan), skips_(plan, owners_), found_(found) {}

  void check() {
    for (int r = 0; r < static_cast<int>(plan_.ranks.size()); ++r) {
      seen_.clear();
      seen_served_.clear();
      const auto& lanes = plan_.ranks[r].lanes;
      for (int l = 0; l < static_cast<int>(lanes.size()); ++l) {
        if (!is_message(lanes[l].key.kind)) continue;
        for (int i = 0; i < static_cast<int>(lanes[l].ops.size()); ++i) check({Rank(r), l, i});
      }
      if (!plan_.skips.empty()) check_all_skips_sent(Rank(r));
    }
    for (Mismatch& m : meetings(plan_).mismatches) found_.push_back({m.where, "pairing", std::move(m.text)});
  }

 private:
  void check(OpRef ref) {
    const Op& op = at(plan_, ref);
    if (is_over_run(op)) return check_served(ref, op);
    if (!joins_segments(ref.rank, op)) {
      found_.push_back({ref, "placement",
                        describe(plan_, ref) + " with rank " + std::to_string(op.peer.value) +
                            " does not join the computing ranks of " +
                            (op.port > 0 ? "the segments of its port" : "neighbouring segments")});
    }
    if (!seen_.insert(key_of(op)).second) {
      found_.push_back({ref, "exactly once", describe(plan_, ref) + " again"});
    } else if (op.port > 0 && op.kind == OpKind::send && !is_asked_for(ref.rank, op)) {
      found_.push_back(
          {ref, "exactly once",
           describe(plan_, ref) + " brings what rank " + std::to_string(op.peer.value) + " has by another port"});
    }
  }

  /// Gradients go from a worker to a server of their stage, weights back.
  void check_served(OpRef ref, const Op& op) {
    const StageId stage = stage_of(plan_, op.segment);
    const bool to_server = (op.kind == OpKind::send) == (op.payload == Payload::gradients);
    const Rank server = to_server ? op.peer : ref.rank, worker = to_server ? ref.rank : op.peer;
    if (plan_.servers.empty() || !updates(plan_, server, stage) || updates(plan_, worker, stage) ||
        !find_holding(plan_, worker, stage)) {
      found_.push_back({ref, "placement",
                        describe(plan_, ref) + " with rank " + std::to_string(op.peer.value) +
                            " does not join a worker and its server"});
    }
    if (!seen_served_.insert({op.kind, op.payload, op.segment, op.step, op.peer}).second)
      found_.push_back({ref, "exactly once", describe(plan_, ref) + " again"});
  }

  /// Whether the rank computes this piece on the operation's own segment, and the peer on the one at the other end.
  bool joins_segments(Rank rank, const Op& op) const {
    const SegmentId other = other_segment(op, plan_.skips);
    if (other < SegmentId(0) || other > last_segment(plan_)) return false;
    const Holding* here = find_holding(plan_, rank, stage_of(plan_, op.segment));
    const Holding* there = find_holding(plan_, op.peer, stage_of(plan_, other));
    return here && there && here->replica == there->replica && here->shard == there->shard &&
           owners_.of(*here, op.micro_batch, op.step) == rank && owners_.of(*there, op.micro_batch, op.step) == op.peer;
  }

  /// Whether it is one of those that follow the pass which makes what it carries.
  bool is_asked_for(Rank rank, const Op& send) const {
    if (!joins_segments(rank, send)) return true;  // told already
    const OpKind kind = send.payload == Payload::activation ? OpKind::forward : OpKind::backward;
    const auto asked = skips_.sends_after(rank, pass(kind, send.segment, send.micro_batch, send.step, VersionId(0)));
    return std::ranges::find(asked, send) != asked.end();
  }

  void check_all_skips_sent(Rank rank) {
    const auto& ops = plan_.ranks[rank.value].compute();
    for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
      if (!is_pass(ops[i].kind) || !find_holding(plan_, rank, stage_of(plan_, ops[i].segment))) continue;
      for (const Op& send : skips_.sends_after(rank, ops[i])) {
        if (seen_.contains(key_of(send))) continue;
        const OpRef ref{rank, compute_lane, i};
        found_.push_back(
            {ref, "exactly once",
             describe(plan_, ref) + " lacks " + to_text(send) + " to rank " + std::to_string(send.peer.value)});
      }
    }
  }

  using Key = std::tuple<OpKind, Payload, SegmentId, int, MicroBatchId, StepId>;
  static Key key_of(const Op& op) { return {op.kind, op.payload, op.segment, op.port, op.micro_batch, op.step}; }

  const Plan& plan_;
  PieceOwners owners_;
  SkipMessages skips_;
  Violations& found_;
  std::set<Key> seen_;                                                          ///< on the rank at hand
  std::set<std::tuple<OpKind, Payload, SegmentId, StepId, Rank>> seen_served_;  ///< the same, of runs
};

}  // namespace

void check_messages(const Plan& plan, Violations& found) { MessageCheck(plan, found).check(); }

}  // namespace parabench::plan
