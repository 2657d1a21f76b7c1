#include "analytic/simulate/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analytic/simulate/activities.h"
#include "analytic/simulate/by_readiness.h"
#include "base/error.h"
#include "parallelism/plan/first_come.h"
#include "parallelism/plan/matching.h"

namespace parabench::analytic {
namespace {

/// How many operations of a lane must have ended. Lanes run in order, so this says as much as a reference.
struct Need {
  std::int32_t lane = 0;  ///< of all lanes of the plan, rank by rank
  std::int32_t ended = 0;
};

/// One of what an operation waits for beyond the first.
struct FurtherNeed {
  std::int32_t index = 0;  ///< of the operation
  Need need;
};

/// A lane on its way. What every event looks at lies in one cache line.
struct alignas(64) LaneState {
  const plan::Op* ops = nullptr;
  const Need* needs = nullptr;                        ///< of each operation; null where they wait for nothing
  const std::vector<FurtherNeed>* further = nullptr;  ///< ascending; null where each waits for one other lane at most
  std::vector<plan::Span>* spans = nullptr;
  std::int32_t size = 0;
  std::int32_t next = 0;   ///< operations that have ended
  Need need;               ///< of the next one
  std::int32_t twin = -1;  ///< messages: the lane at the other end; collectives: the group
  std::int32_t pairs = 0;  ///< messages: leading operations that are one message with those of the twin
  std::int32_t rank = 0;
  plan::LaneKind kind = plan::LaneKind::compute;
  bool posted = false;  ///< the next one's dependencies have ended

  bool finished() const { return next == size; }
  const plan::Op& head() const { return ops[next]; }
};

/// What an operation waits for outside of its own lane, `own`: of the first other lane as the result, of the others,
/// which few operations have, in `further`. What stands before it on its own lane has ended anyway; what stands behind
/// it never will.
Need need_of(std::span<const plan::OpRef> before, int first_lane, std::int32_t own, int index,
             std::vector<FurtherNeed>& further) {
  Need need{own, 0};
  for (const plan::OpRef& ref : before) {
    const Need other{first_lane + ref.lane, ref.index + 1};
    if (other.lane == own && ref.index < index) continue;
    if (other.lane == own) return other;
    if (need.lane == own || need.lane == other.lane) {
      need = {other.lane, std::max(need.ended, other.ended)};
    } else {
      further.push_back({index, other});
    }
  }
  return need;
}

/// What arrival decides in a plan whose servers take the gradients that come first.
struct RankArrivals {
  plan::LocalDependencies needs;
  plan::FirstCome first_come;
  std::vector<std::vector<plan::OpRef>> newer;  ///< newer_weights()
  std::vector<std::optional<bool>> is_late;     ///< by step, once the rank has begun it
};

class Simulation {
 public:
  Simulation(const plan::Plan& plan, const TimeModel& time)
      : plan_(plan),
        time_(time),
        shares_cores_(time.cores() > 0),
        shares_links_(time.shares_links()),
        by_instants_(shares_links_ || plan.taken > 0),
        running_(plan, time),
        arrived_(plan.groups.size() * enum_values<plan::Payload>.size(), 0),
        groups_(plan.groups.size() * enum_values<plan::Payload>.size()),
        is_touched_(plan.ranks.size(), 0) {
    timeline_.ranks.resize(plan.ranks.size());
    for (const plan::RankProgram& rank : plan.ranks) first_lane_.push_back(first_lane_.back() + std::ssize(rank.lanes));
    lanes_.reserve(first_lane_.back());
    for (int rank = 0; rank < ranks(); ++rank) add_lanes(rank);
    find_twins();
  }

  /// Ranks go on as far as they can, in whatever order: what an operation waits for fixes its times. Only where cores
  /// or links are shared do ends depend on all that runs, and only where arrival decides does what an operation waits
  /// for depend on them: then they are waited for instant by instant.
  plan::Timeline run() {
    for (int rank = 0; rank < ranks(); ++rank) touch(rank);
    go_on();
    std::vector<int> ended;
    while (!running_.empty() || !own_.empty()) {
      ended.clear();
      const double now = shares_cores_ ? running_.finish(ended) : own_.finish(ended);
      for (const int lane : ended) complete(lane, now);
      go_on();
    }
    require_finished();
    return std::move(timeline_);
  }

 private:
  int ranks() const { return static_cast<int>(plan_.ranks.size()); }
  const plan::Lane& plan_lane(const LaneState& lane) const {
    return plan_.ranks[lane.rank].lanes[&lane - &lanes_[first_lane_[lane.rank]]];
  }

  void add_lanes(int rank) {
    plan::LocalDependencies local = plan::dependencies(plan_, Rank(rank));
    const auto& lanes = plan_.ranks[rank].lanes;
    auto& spans = timeline_.ranks[rank];
    spans.resize(lanes.size());
    for (int l = 0; l < std::ssize(lanes); ++l) {
      const auto& ops = lanes[l].ops;
      const int own = static_cast<int>(lanes_.size());
      std::vector<Need>& needs = needs_.emplace_back();
      std::vector<FurtherNeed>& further = further_.emplace_back();
      // What brings activations waits for nothing on its rank.
      if (lanes[l].key.kind != plan::LaneKind::receive || !plan::is_of_micro_batch(lanes[l].key.purpose)) {
        needs.reserve(ops.size());
        for (int i = 0; i < std::ssize(ops); ++i) {
          needs.push_back(need_of(local.of(l, i), first_lane_[rank], own, i, further));
        }
      }
      spans[l].reserve(ops.size());
      lanes_.push_back({.ops = ops.data(),
                        .needs = needs.empty() ? nullptr : needs.data(),
                        .further = further.empty() ? nullptr : &further,
                        .spans = &spans[l],
                        .size = static_cast<std::int32_t>(ops.size()),
                        .need = {own, 0},
                        .rank = rank,
                        .kind = lanes[l].key.kind});
      queue(lanes_.back(), 0);
    }
    if (plan_.taken > 0)
      arrivals_.push_back({std::move(local), plan::FirstCome(plan_), plan::newer_weights(plan_, Rank(rank)),
                           std::vector<std::optional<bool>>(plan_.steps)});
  }

  void find_twins() {
    const plan::Matching matching = plan::twins(plan_);
    for (int own = 0; own < std::ssize(lanes_); ++own) {
      LaneState& lane = lanes_[own];
      if (lane.kind == plan::LaneKind::compute) continue;
      if (lane.kind == plan::LaneKind::collectives) {
        const plan::LaneKey& key = plan_lane(lane).key;
        lane.twin =
            key.group.value * static_cast<int>(enum_values<plan::Payload>.size()) + static_cast<int>(key.purpose);
        groups_[lane.twin].push_back(own);
        continue;
      }
      const auto& found = matching[lane.rank][own - first_lane_[lane.rank]];
      if (found.empty()) continue;
      lane.twin = first_lane_[found.front().rank.value] + found.front().lane;
      LaneState& other = lanes_[lane.twin];
      if (lane.kind != plan::LaneKind::send) continue;
      const int common = std::min(lane.size, other.size);
      const auto meet = [&](int k) {
        return plan::receive_of(lane.ops[k], Rank(lane.rank), plan_.skips) == other.ops[k];
      };
      while (lane.pairs < common && meet(lane.pairs)) ++lane.pairs;
      other.pairs = lane.pairs;
    }
  }

  /// The lane comes to its next operation.
  static void queue(LaneState& lane, double now) {
    lane.posted = false;
    if (lane.finished()) return;
    lane.spans->push_back({.queued = now});
    if (!lane.needs) return;
    lane.need = lane.needs[lane.next];
  }

  void touch(int rank) {
    if (!is_touched_[rank]) touched_.push_back(rank);
    is_touched_[rank] = 1;
  }

  void go_on() {
    while (!touched_.empty()) {
      const int rank = touched_.back();
      touched_.pop_back();
      is_touched_[rank] = 0;
      for (int own = first_lane_[rank]; own < first_lane_[rank + 1]; ++own) {
        while (post(own)) join(own);
      }
    }
  }

  /// Whether the lane's next operation has what it waits for, only now.
  bool post(int own) {
    LaneState& lane = lanes_[own];
    if (lane.posted || lane.finished()) return false;
    if (plan_.taken > 0 && plan::is_first_come(lane.head())) return post_first_come(lane);
    if (!has_ended(lane.need)) return false;
    if (lane.further) return post_after_all(lane);
    lane.posted = true;
    plan::Span& span = lane.spans->back();
    span.start = std::max(span.queued, end_of(lane.need));
    return true;
  }

  bool has_ended(const Need& need) const { return lanes_[need.lane].next >= need.ended; }
  double end_of(const Need& need) const { return need.ended > 0 ? (*lanes_[need.lane].spans)[need.ended - 1].end : 0; }

  bool post_after_all(LaneState& lane) {
    const std::span others(std::ranges::lower_bound(*lane.further, lane.next, {}, &FurtherNeed::index),
                           std::ranges::upper_bound(*lane.further, lane.next, {}, &FurtherNeed::index));
    if (!std::ranges::all_of(others, [&](const FurtherNeed& other) { return has_ended(other.need); })) return false;
    lane.posted = true;
    plan::Span& span = lane.spans->back();
    span.start = std::max(span.queued, end_of(lane.need));
    for (const FurtherNeed& other : others) span.start = std::max(span.start, end_of(other.need));
    return true;
  }

  bool has_ended(int rank, const plan::OpRef& ref) const {
    return lanes_[first_lane_[rank] + ref.lane].next > ref.index;
  }

  bool post_first_come(LaneState& lane) {
    RankArrivals& there = arrivals_[lane.rank];
    const auto came = [&](const plan::OpRef& receive) -> std::optional<double> {
      if (!has_ended(lane.rank, receive)) return std::nullopt;
      return (*lanes_[first_lane_[lane.rank] + receive.lane].spans)[receive.index].end;
    };
    const auto since = there.first_come.may_start(lane.head(), there.needs.of(plan::compute_lane, lane.next), came);
    if (!since) return false;
    lane.posted = true;
    lane.spans->back().start = std::max(lane.spans->back().queued, *since);
    return true;
  }

  /// Whether it is a pass of a step for which the rank came too late when it began it.
  bool comes_too_late(const LaneState& lane) {
    if (plan_.taken == 0 || !plan::is_pass(lane.head().kind)) return false;
    const int step = lane.head().step.value;
    const auto& newer = arrivals_[lane.rank].newer[step];
    std::optional<bool>& is_late = arrivals_[lane.rank].is_late[step];
    if (!is_late)
      is_late = !newer.empty() &&
                std::ranges::all_of(newer, [&](const plan::OpRef& ref) { return has_ended(lane.rank, ref); });
    return *is_late;
  }

  void join(int own) {
    switch (lanes_[own].kind) {
      case plan::LaneKind::compute: return start(own, {&own, 1});
      case plan::LaneKind::collectives: return join_group(own);
      case plan::LaneKind::send:
      case plan::LaneKind::receive: return join_peer(own);
    }
  }

  void join_peer(int own) {
    const LaneState& lane = lanes_[own];
    if (lane.next >= lane.pairs) return;
    const LaneState& other = lanes_[lane.twin];
    if (!other.posted) post(lane.twin);
    if (!other.posted || other.next != lane.next) return;
    const std::array<int, 2> ends = {own, lane.twin};
    start(lane.kind == plan::LaneKind::send ? own : lane.twin, ends);
  }

  void join_group(int own) {
    const int number = lanes_[own].twin;
    const std::vector<int>& group = groups_[number];
    if (++arrived_[number] < std::ssize(group)) return;
    const plan::Op& op = lanes_[own].head();
    if (std::ranges::any_of(group, [&](int other) { return lanes_[other].head() != op; })) return;
    arrived_[number] = 0;
    start(group.front(), group);
  }

  /// The head of `own`, in which all of `ends` take part.
  void start(int own, std::span<const int> ends) {
    double now = 0;
    for (const int lane : ends) now = std::max(now, lanes_[lane].spans->back().start);
    const LaneState& lane = lanes_[own];
    if (comes_too_late(lane)) {
      complete(own, now);
    } else if (shares_cores_) {
      running_.start({&lane.head(), Rank(lane.rank), own, static_cast<int>(ends.size())}, now);
    } else if (shares_links_ && lane.kind != plan::LaneKind::compute) {
      own_.start(own, transfer(lane), now);
    } else if (const double end = now + time_.seconds(plan_, Rank(lane.rank), lane.head(), 1); by_instants_) {
      own_.start(own, end);
    } else {
      complete(own, end);
    }
  }

  plan::Transfer transfer(const LaneState& lane) const {
    const TimeParts parts = time_.parts(plan_, Rank(lane.rank), lane.head(), 1);
    return {plan::ports_of(plan_, Rank(lane.rank), lane.head()), parts.latency, parts.transfer};
  }

  void complete(int own, double now) {
    if (lanes_[own].kind == plan::LaneKind::collectives) {
      for (const int lane : groups_[lanes_[own].twin]) end(lane, now);
      return;
    }
    end(own, now);
    if (lanes_[own].twin >= 0) end(lanes_[own].twin, now);
  }

  void end(int own, double now) {
    LaneState& lane = lanes_[own];
    lane.spans->back().end = now;
    ++lane.next;
    queue(lane, now);
    touch(lane.rank);
  }

  void require_finished() const {
    constexpr int shown = 16;
    std::string waiting;
    int stuck = 0;
    for (int rank = 0; rank < ranks(); ++rank) {
      std::string line;
      for (int own = first_lane_[rank]; own < first_lane_[rank + 1]; ++own) {
        const LaneState& lane = lanes_[own];
        if (lane.finished()) continue;
        line += fmt::format(" {} of step {} on {}{}", plan::to_text(lane.head()), lane.head().step.value,
                            plan::name(plan_lane(lane).key), lane.posted ? " (posted)" : "");
      }
      if (!line.empty() && stuck++ < shown) waiting += fmt::format("; rank {} waits at{}", rank, line);
    }
    if (stuck == 0) return;
    if (stuck > shown) waiting += fmt::format("; and {} more ranks", stuck - shown);
    throw usage_error("plan", "a dead-lock" + waiting, "an order in which every operation can end",
                      "operations marked (posted) wait for their partner on another rank");
  }

  const plan::Plan& plan_;
  const TimeModel& time_;
  bool shares_cores_, shares_links_;
  bool by_instants_;  ///< ends are waited for although nothing shares cores
  SharingActivities running_;
  OwnActivities own_;                   ///< by instants
  std::vector<RankArrivals> arrivals_;  ///< by rank, where arrival decides
  std::vector<int> first_lane_ = {0};   ///< of each rank, and the number of all lanes
  std::vector<LaneState> lanes_;
  std::vector<std::vector<Need>> needs_;
  std::deque<std::vector<FurtherNeed>> further_;
  std::vector<int> arrived_;              ///< [group][purpose] members that have come to their next collective
  std::vector<std::vector<int>> groups_;  ///< their lanes
  std::vector<int> touched_;              ///< ranks that may go on
  std::vector<char> is_touched_;
  plan::Timeline timeline_;
};

}  // namespace

plan::Timeline simulate(const plan::Plan& plan, const TimeModel& time) {
  return is_futurized(plan.spec) ? simulate_by_readiness(plan, time) : Simulation(plan, time).run();
}

}  // namespace parabench::analytic
