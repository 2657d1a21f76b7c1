#include <set>
#include <tuple>

#include "parallelism/plan/matching.h"
#include "parallelism/plan/owners.h"
#include "parallelism/plan/rules/rules.h"

namespace parabench {
namespace {

class MessageCheck {
 public:
  MessageCheck(const Plan& plan, Violations& found) : plan_(plan), owners_(plan), found_(found) {}

  void check() {
    for (int r = 0; r < static_cast<int>(plan_.ranks.size()); ++r) {
      seen_.clear();
      const auto& lanes = plan_.ranks[r].lanes;
      for (int l = 0; l < static_cast<int>(lanes.size()); ++l) {
        if (!is_message(lanes[l].key.kind)) continue;
        for (int i = 0; i < static_cast<int>(lanes[l].ops.size()); ++i) check({Rank(r), l, i});
      }
    }
    for (Mismatch& m : meetings(plan_).mismatches) found_.push_back({m.where, "pairing", std::move(m.text)});
  }

 private:
  void check(OpRef ref) {
    const Op& op = at(plan_, ref);
    if (!joins_neighbours(ref.rank, op)) {
      found_.push_back({ref, "placement",
                        describe(plan_, ref) + " with rank " + std::to_string(op.peer.value) +
                            " does not join the computing ranks of neighbouring segments"});
    }
    if (!seen_.insert({op.kind, op.payload, op.segment, op.micro_batch, op.step}).second) {
      found_.push_back({ref, "exactly once", describe(plan_, ref) + " again"});
    }
  }

  /// Whether the rank computes this piece on the operation's own segment, and the peer on its neighbour.
  bool joins_neighbours(Rank rank, const Op& op) const {
    const SegmentId neighbour = other_segment(op);
    if (neighbour < SegmentId(0) || neighbour > last_segment(plan_)) return false;
    const Holding* here = find_holding(plan_, rank, stage_of(plan_, op.segment));
    const Holding* there = find_holding(plan_, op.peer, stage_of(plan_, neighbour));
    return here && there && here->replica == there->replica && here->shard == there->shard &&
           owners_.of(*here, op.micro_batch, op.step) == rank && owners_.of(*there, op.micro_batch, op.step) == op.peer;
  }

  const Plan& plan_;
  PieceOwners owners_;
  Violations& found_;
  std::set<std::tuple<OpKind, Payload, SegmentId, MicroBatchId, StepId>> seen_;  ///< on the rank at hand
};

}  // namespace

void check_messages(const Plan& plan, Violations& found) { MessageCheck(plan, found).check(); }

}  // namespace parabench
