#include "parallelism/plan/matching.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace parabench {
namespace {

/// The receive that fits a send: an activation arrives at the next segment, a gradient at the previous one.
Op counterpart(const Op& send, Rank sender) {
  const int direction = send.kind == OpKind::send_forward ? 1 : -1;
  const SegmentId receiver(send.segment.value + direction);
  return direction > 0 ? recv_forward(receiver, send.micro_batch, send.step, sender)
                       : recv_backward(receiver, send.micro_batch, send.step, sender);
}

struct Pairing {
  std::vector<OpRef> sends, receives;
};

class Matcher {
 public:
  explicit Matcher(const Plan& plan) : plan_(plan) {
    for (const RankProgram& rank : plan.ranks) {
      auto& lanes = result_.matching.partners.emplace_back();
      for (Lane lane : all_lanes) lanes[static_cast<int>(lane)].resize(rank.lane(lane).size());
    }
  }

  Meetings run() {
    pair_messages();
    pair_reductions();
    return std::move(result_);
  }

 private:
  void meet(OpRef a, OpRef b) {
    result_.matching.partners[a.rank.value][static_cast<int>(a.lane)][a.index].push_back(b);
  }
  void complain(OpRef where, const std::string& what) {
    result_.mismatches.push_back({where, describe(plan_, where) + ' ' + what});
  }

  void pair_messages() {
    std::map<std::tuple<Rank, Rank, Lane>, Pairing> links;
    for (int r = 0; r < static_cast<int>(plan_.ranks.size()); ++r) {
      for (Lane lane : {Lane::p2p_forward, Lane::p2p_backward}) {
        const auto& ops = plan_.ranks[r].lane(lane);
        for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
          const OpRef ref{Rank(r), lane, i};
          if (is_send(ops[i].kind)) links[{Rank(r), ops[i].peer, lane}].sends.push_back(ref);
          if (is_receive(ops[i].kind)) links[{ops[i].peer, Rank(r), lane}].receives.push_back(ref);
        }
      }
    }
    for (const auto& [link, pairing] : links) pair(pairing);
  }

  void pair(const Pairing& pairing) {
    const std::size_t common = std::min(pairing.sends.size(), pairing.receives.size());
    for (std::size_t k = 0; k < common; ++k) {
      const OpRef send = pairing.sends[k], receive = pairing.receives[k];
      if (counterpart(at(plan_, send), send.rank) != at(plan_, receive)) {
        complain(send, "meets " + describe(plan_, receive));
      }
      meet(send, receive);
      meet(receive, send);
    }
    for (std::size_t k = common; k < pairing.sends.size(); ++k) complain(pairing.sends[k], "has no receive");
    for (std::size_t k = common; k < pairing.receives.size(); ++k) complain(pairing.receives[k], "has no send");
  }

  void pair_reductions() {
    std::map<StageId, std::vector<Rank>> groups;
    for (int r = 0; r < static_cast<int>(plan_.ranks.size()); ++r) groups[plan_.ranks[r].stage].push_back(Rank(r));
    for (const auto& [stage, group] : groups) {
      std::size_t longest = 0;
      for (Rank r : group) longest = std::max(longest, reductions(r).size());
      for (std::size_t k = 0; k < longest; ++k) meet_all(group, static_cast<int>(k));
    }
  }

  void meet_all(const std::vector<Rank>& group, int k) {
    std::vector<OpRef> present;
    for (Rank r : group) {
      if (k < static_cast<int>(reductions(r).size())) present.push_back({r, Lane::collectives, k});
    }
    for (OpRef a : present) {
      if (present.size() < group.size()) complain(a, "lacks a peer among the replicas");
      if (at(plan_, a) != at(plan_, present.front())) complain(a, "meets " + describe(plan_, present.front()));
      for (OpRef b : present) {
        if (a != b) meet(a, b);
      }
    }
  }

  const std::vector<Op>& reductions(Rank r) const { return plan_.ranks[r.value].lane(Lane::collectives); }

  const Plan& plan_;
  Meetings result_;
};

}  // namespace

Meetings meetings(const Plan& plan) { return Matcher(plan).run(); }

Matching match(const Plan& plan) {
  Meetings found = meetings(plan);
  if (!found.mismatches.empty()) {
    throw usage_error("plan", found.mismatches.front().text, "every send, receive and reduction to meet its like");
  }
  return std::move(found.matching);
}

std::string describe(const Plan& plan, OpRef ref) {
  const Op& op = at(plan, ref);
  return to_text(op) + " of step " + std::to_string(op.step) + " on rank " + std::to_string(ref.rank.value);
}

}  // namespace parabench
