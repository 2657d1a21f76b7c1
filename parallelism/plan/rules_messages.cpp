#include <set>
#include <tuple>

#include "parallelism/plan/matching.h"
#include "parallelism/plan/rules.h"

namespace parabench {
namespace {

/// Whether the operation's own segment lives on the rank and its neighbour on the peer of the same replica.
bool joins_neighbours(const Plan& plan, Rank rank, const Op& op) {
  const bool to_next = op.kind == OpKind::send_forward || op.kind == OpKind::recv_backward;
  const int neighbour = op.segment.value + (to_next ? 1 : -1);
  if (neighbour < 0 || neighbour >= static_cast<int>(plan.segments.size())) return false;
  const RankProgram &own = plan.ranks[rank.value], &peer = plan.ranks[op.peer.value];
  return plan.segments[op.segment.value].stage == own.stage && plan.segments[neighbour].stage == peer.stage &&
         own.replica == peer.replica && rank != op.peer;
}

}  // namespace

void check_messages(const Plan& plan, Violations& found) {
  for (int r = 0; r < static_cast<int>(plan.ranks.size()); ++r) {
    std::set<std::tuple<OpKind, SegmentId, MicroBatchId, int>> seen;
    for (Lane lane : {Lane::p2p_forward, Lane::p2p_backward}) {
      const auto& ops = plan.ranks[r].lane(lane);
      for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
        const Op& op = ops[i];
        const OpRef ref{Rank(r), lane, i};
        if (!joins_neighbours(plan, Rank(r), op)) {
          found.push_back({ref, "placement",
                           describe(plan, ref) + " with rank " + std::to_string(op.peer.value) +
                               " does not join neighbouring segments"});
        }
        if (!seen.insert({op.kind, op.segment, op.micro_batch, op.step}).second) {
          found.push_back({ref, "exactly once", describe(plan, ref) + " again"});
        }
      }
    }
  }
  for (Mismatch& m : meetings(plan).mismatches) found.push_back({m.where, "pairing", std::move(m.text)});
}

}  // namespace parabench
