#include "parallelism/plan/rules/progress.h"

#include <algorithm>
#include <utility>

namespace parabench::plan {
namespace {

class Lanes {
 public:
  Lanes(const Plan& plan, std::span<const LocalDependencies> local, const Matching& matching, Delivery delivery)
      : plan_(plan), local_(local), matching_(matching), delivery_(delivery) {
    for (const RankProgram& rank : plan.ranks) ended_.emplace_back(rank.lanes.size(), 0);
  }

  LaneRun run() {
    bool progress = true;
    while (progress) {
      progress = false;
      for_each_lane([&](Rank r, int lane) { progress |= try_head(r, lane); });
    }
    for_each_lane([&](Rank r, int lane) {
      if (has_head(r, lane)) result_.stuck.push_back(head(r, lane));
    });
    return std::move(result_);
  }

 private:
  template <class Visit>
  void for_each_lane(Visit visit) const {
    for (int r = 0; r < std::ssize(ended_); ++r) {
      for (int lane = 0; lane < std::ssize(ended_[r]); ++lane) visit(Rank(r), lane);
    }
  }
  int ended(OpRef ref) const { return ended_[ref.rank.value][ref.lane]; }
  bool has_ended(OpRef ref) const { return ended(ref) > ref.index; }
  OpRef head(Rank r, int lane) const { return {r, lane, ended({r, lane, 0})}; }
  bool has_head(Rank r, int lane) const {
    return ended_[r.value][lane] < std::ssize(plan_.ranks[r.value].lanes[lane].ops);
  }

  bool is_ready(OpRef ref) const {
    return ended(ref) == ref.index && std::ranges::all_of(local_[ref.rank.value].of(ref.lane, ref.index),
                                                          [&](OpRef before) { return has_ended(before); });
  }

  void end(OpRef ref) {
    ++ended_[ref.rank.value][ref.lane];
    result_.order.push_back(ref);
  }

  bool try_head(Rank r, int lane) {
    if (!has_head(r, lane)) return false;
    const OpRef ref = head(r, lane);
    if (!is_ready(ref)) return false;
    const auto& partners = matching_[r.value][lane];
    const auto twin = [&](const LaneRef& other) { return OpRef{other.rank, other.lane, ref.index}; };
    const OpKind kind = at(plan_, ref).kind;
    if (delivery_ == Delivery::buffered && is_message(kind)) {
      if (kind == OpKind::receive && !has_ended(twin(partners.front()))) return false;
      end(ref);
      return true;
    }
    if (!std::ranges::all_of(partners, [&](const LaneRef& other) { return is_ready(twin(other)); })) return false;
    // A send is written down before its receive, whichever lane came first.
    if (kind == OpKind::receive) end(twin(partners.front()));
    end(ref);
    if (kind != OpKind::receive) {
      for (const LaneRef& other : partners) end(twin(other));
    }
    return true;
  }

  const Plan& plan_;
  std::span<const LocalDependencies> local_;
  const Matching& matching_;
  Delivery delivery_;
  std::vector<std::vector<int>> ended_;
  LaneRun result_;
};

}  // namespace

LaneRun run_lanes(const Plan& plan, std::span<const LocalDependencies> local, const Matching& matching,
                  Delivery delivery) {
  return Lanes(plan, local, matching, delivery).run();
}

}  // namespace parabench::plan
