#include "parallelism/plan/progress.h"

#include <algorithm>
#include <array>
#include <utility>

namespace parabench {
namespace {

class Lanes {
 public:
  Lanes(const Plan& plan, std::span<const LocalDependencies> local, const Matching& matching, Delivery delivery)
      : plan_(plan), local_(local), matching_(matching), delivery_(delivery), ended_(plan.ranks.size()) {}

  LaneRun run() {
    bool progress = true;
    while (progress) {
      progress = false;
      for (int r = 0; r < static_cast<int>(ended_.size()); ++r) {
        for (Lane lane : all_lanes) progress |= try_head(Rank(r), lane);
      }
    }
    for (int r = 0; r < static_cast<int>(ended_.size()); ++r) {
      for (Lane lane : all_lanes) {
        if (has_head(Rank(r), lane)) result_.stuck.push_back(head(Rank(r), lane));
      }
    }
    return std::move(result_);
  }

 private:
  int& ended(OpRef ref) { return ended_[ref.rank.value][static_cast<int>(ref.lane)]; }
  bool has_ended(OpRef ref) { return ended(ref) > ref.index; }
  OpRef head(Rank r, Lane lane) { return {r, lane, ended({r, lane, 0})}; }
  bool has_head(Rank r, Lane lane) {
    return head(r, lane).index < static_cast<int>(plan_.ranks[r.value].lane(lane).size());
  }

  bool is_ready(OpRef ref) {
    if (ended(ref) != ref.index) return false;
    const auto& waits_for = local_[ref.rank.value][static_cast<int>(ref.lane)][ref.index];
    return std::ranges::all_of(waits_for, [&](OpRef before) { return has_ended(before); });
  }

  void end(OpRef ref) {
    ++ended(ref);
    result_.order.push_back(ref);
  }

  bool try_head(Rank r, Lane lane) {
    if (!has_head(r, lane)) return false;
    const OpRef ref = head(r, lane);
    if (!is_ready(ref)) return false;
    const auto& partners = matching_.partners[r.value][static_cast<int>(lane)][ref.index];
    const OpKind kind = at(plan_, ref).kind;
    if (delivery_ == Delivery::buffered && (is_send(kind) || is_receive(kind))) {
      if (is_receive(kind) && !has_ended(partners.front())) return false;
      end(ref);
      return true;
    }
    if (!std::ranges::all_of(partners, [&](OpRef partner) { return is_ready(partner); })) return false;
    // A send is written down before its receive, whichever lane came first.
    if (is_receive(kind)) end(partners.front());
    end(ref);
    if (!is_receive(kind)) {
      for (OpRef partner : partners) end(partner);
    }
    return true;
  }

  const Plan& plan_;
  std::span<const LocalDependencies> local_;
  const Matching& matching_;
  Delivery delivery_;
  std::vector<std::array<int, lane_count>> ended_;
  LaneRun result_;
};

}  // namespace

LaneRun run_lanes(const Plan& plan, std::span<const LocalDependencies> local, const Matching& matching,
                  Delivery delivery) {
  return Lanes(plan, local, matching, delivery).run();
}

}  // namespace parabench
