#include "parallelism/plan/matching.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace parabench::plan {
namespace {

class Matcher {
 public:
  explicit Matcher(const Plan& plan) : plan_(plan), result_{twins(plan), {}} {}

  Meetings run() {
    for (int r = 0; r < std::ssize(plan_.ranks); ++r) {
      const auto& lanes = plan_.ranks[r].lanes;
      for (int l = 0; l < std::ssize(lanes); ++l) {
        if (lanes[l].key.kind == LaneKind::collectives) check_collectives({Rank(r), l});
        if (is_message(lanes[l].key.kind)) check_messages({Rank(r), l});
      }
    }
    return std::move(result_);
  }

 private:
  const Lane& lane(LaneRef ref) const { return plan_.ranks[ref.rank.value].lanes[ref.lane]; }
  const std::vector<LaneRef>& partners(LaneRef ref) const { return result_.matching[ref.rank.value][ref.lane]; }
  void complain(OpRef where, const std::string& what) {
    result_.mismatches.push_back({where, describe(plan_, where) + ' ' + what});
  }

  void check_messages(LaneRef own) {
    const auto& ops = lane(own).ops;
    const bool sends = lane(own).key.kind == LaneKind::send;
    const LaneRef* other = partners(own).empty() ? nullptr : &partners(own).front();
    const std::size_t common = other ? std::min(ops.size(), lane(*other).ops.size()) : 0;
    for (int k = 0; k < std::ssize(ops); ++k) {
      const OpRef ref{own.rank, own.lane, k};
      if (k >= static_cast<int>(common)) {
        complain(ref, sends ? "has no receive" : "has no send");
      } else if (sends && receive_of(ops[k], own.rank, plan_.skips) != lane(*other).ops[k]) {
        complain(ref, "meets " + describe(plan_, {other->rank, other->lane, k}));
      }
    }
  }

  void check_collectives(LaneRef own) {
    const std::size_t others = plan_.groups[lane(own).key.group.value].ranks.size() - 1;
    const auto& ops = lane(own).ops;
    for (int k = 0; k < std::ssize(ops); ++k) {
      const OpRef ref{own.rank, own.lane, k};
      std::size_t present = 0;
      for (const LaneRef& other : partners(own)) {
        const auto& theirs = lane(other).ops;
        if (k >= std::ssize(theirs)) continue;
        ++present;
        // Told once, by the higher rank.
        if (own.rank > other.rank && theirs[k] != ops[k]) {
          complain(ref, "meets " + describe(plan_, {other.rank, other.lane, k}));
        }
      }
      if (present < others) complain(ref, "lacks a peer in its group");
    }
  }

  const Plan& plan_;
  Meetings result_;
};

}  // namespace

Matching twins(const Plan& plan) {
  Matching matching(plan.ranks.size());
  for (Rank r; r.value < std::ssize(plan.ranks); ++r) {
    for (const Lane& lane : plan.ranks[r.value].lanes) {
      auto& met = matching[r.value].emplace_back();
      const auto add = [&](Rank other, const LaneKey& key) {
        const int twin = plan.ranks[other.value].find_lane(key);
        if (twin >= 0) met.push_back({other, twin});
      };
      if (is_message(lane.key.kind)) add(lane.key.peer, other_end(lane.key, r));
      if (lane.key.kind != LaneKind::collectives) continue;
      for (Rank other : plan.groups[lane.key.group.value].ranks) {
        if (other != r) add(other, lane.key);
      }
    }
  }
  return matching;
}

Meetings meetings(const Plan& plan) { return Matcher(plan).run(); }

Matching match(const Plan& plan) {
  Meetings found = meetings(plan);
  if (!found.mismatches.empty()) {
    throw usage_error("plan", found.mismatches.front().text, "every send, receive and collective to meet its like");
  }
  return std::move(found.matching);
}

std::string describe(const Plan& plan, OpRef ref) {
  const Op& op = at(plan, ref);
  return to_text(op) + " of step " + std::to_string(op.step.value) + " on rank " + std::to_string(ref.rank.value);
}

}  // namespace parabench::plan
