#include "analytic/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "analytic/activities.h"
#include "base/error.h"
#include "parallelism/plan/matching.h"

namespace parabench {
namespace {

/// How many operations of a lane must have ended. Lanes run in order, so this says as much as a reference.
struct Need {
  std::int32_t lane = 0;  ///< of all lanes of the plan, rank by rank
  std::int32_t ended = 0;
};

/// A lane on its way. What every event looks at lies in one cache line.
struct alignas(64) LaneState {
  const Op* ops = nullptr;
  const Need* needs = nullptr;  ///< of each operation; null where they wait for nothing
  std::vector<Span>* spans = nullptr;
  std::int32_t size = 0;
  std::int32_t next = 0;   ///< operations that have ended
  Need need;               ///< of the next one
  std::int32_t twin = -1;  ///< messages: the lane at the other end
  std::int32_t pairs = 0;  ///< messages: leading operations that are one message with those of the twin
  std::int32_t rank = 0;
  LaneKind kind = LaneKind::compute;
  bool posted = false;  ///< the next one's dependencies have ended

  bool finished() const { return next == size; }
  const Op& head() const { return ops[next]; }
};

/// What an operation waits for outside of its own lane, `own`: dependencies.h promises one lane at most. What stands
/// before it on its own lane has ended anyway; what stands behind it never will.
Need need_of(std::span<const OpRef> before, int first_lane, std::int32_t own, int index) {
  Need need{own, 0};
  for (const OpRef& ref : before) {
    const Need other{first_lane + ref.lane, ref.index + 1};
    if (other.lane == own && ref.index < index) continue;
    if (other.lane == own) return other;
    if (need.lane != own && need.lane != other.lane) throw std::logic_error("an operation waits for two other lanes");
    need = {other.lane, std::max(need.ended, other.ended)};
  }
  return need;
}

/// Whether a send and a receive are one message.
bool meet(const Op& send, const Op& receive) {
  const int towards = send.kind == OpKind::send_forward ? 1 : -1;
  return send.micro_batch == receive.micro_batch && send.step == receive.step &&
         send.segment.value + towards == receive.segment.value;
}

bool sends(LaneKind kind) { return kind == LaneKind::send_forward || kind == LaneKind::send_backward; }
bool receives(LaneKind kind) { return kind == LaneKind::recv_forward || kind == LaneKind::recv_backward; }

template <class Activities>
class Simulation {
 public:
  Simulation(const Plan& plan, const CostModel& cost)
      : plan_(plan), active_(plan, cost), arrived_(plan.stages, 0), groups_(plan.stages) {
    timeline_.ranks.resize(plan.ranks.size());
    for (const RankProgram& rank : plan.ranks) first_lane_.push_back(first_lane_.back() + std::ssize(rank.lanes));
    lanes_.reserve(first_lane_.back());
    for (int rank = 0; rank < ranks(); ++rank) add_lanes(rank);
    find_twins();
  }

  Timeline run() {
    for (int rank = 0; rank < ranks(); ++rank) look(rank);
    std::vector<int> ended, touched;
    std::vector<char> is_touched(plan_.ranks.size(), 0);
    while (!active_.empty()) {
      ended.clear();
      now_ = active_.finish(ended);
      for (const int lane : ended)
        complete(lane, [&](int rank) {
          if (!is_touched[rank]) touched.push_back(rank);
          is_touched[rank] = 1;
        });
      // In whatever order: what starts does not depend on it.
      for (const int rank : touched) {
        is_touched[rank] = 0;
        look(rank);
      }
      touched.clear();
    }
    require_finished();
    return std::move(timeline_);
  }

 private:
  int ranks() const { return static_cast<int>(plan_.ranks.size()); }
  const Lane& lane_of(const LaneState& lane) const {
    return plan_.ranks[lane.rank].lanes[&lane - &lanes_[first_lane_[lane.rank]]];
  }

  void add_lanes(int rank) {
    const LocalDependencies local = dependencies(plan_, Rank(rank));
    const auto& lanes = plan_.ranks[rank].lanes;
    auto& spans = timeline_.ranks[rank];
    spans.resize(lanes.size());
    for (int l = 0; l < std::ssize(lanes); ++l) {
      const auto& ops = lanes[l].ops;
      const int own = static_cast<int>(lanes_.size());
      std::vector<Need>& needs = needs_.emplace_back();
      if (!receives(lanes[l].kind)) {
        needs.reserve(ops.size());
        for (int i = 0; i < std::ssize(ops); ++i) {
          needs.push_back(need_of(local.of(l, i), first_lane_[rank], own, i));
        }
      }
      spans[l].reserve(ops.size());
      lanes_.push_back({.ops = ops.data(),
                        .needs = needs.empty() ? nullptr : needs.data(),
                        .spans = &spans[l],
                        .size = static_cast<std::int32_t>(ops.size()),
                        .need = {own, 0},
                        .rank = rank,
                        .kind = lanes[l].kind});
      queue(lanes_.back());
    }
  }

  void find_twins() {
    const Matching matching = twins(plan_);
    for (int own = 0; own < std::ssize(lanes_); ++own) {
      LaneState& lane = lanes_[own];
      if (lane.kind == LaneKind::compute) continue;
      if (lane.kind == LaneKind::collectives) {
        groups_[lane_of(lane).key].push_back(own);
        continue;
      }
      const auto& found = matching[lane.rank][own - first_lane_[lane.rank]];
      if (found.empty()) continue;
      lane.twin = first_lane_[found.front().rank.value] + found.front().lane;
      LaneState& other = lanes_[lane.twin];
      if (!sends(lane.kind)) continue;
      const int common = std::min(lane.size, other.size);
      while (lane.pairs < common && meet(lane.ops[lane.pairs], other.ops[lane.pairs])) ++lane.pairs;
      other.pairs = lane.pairs;
    }
  }

  /// The lane comes to its next operation.
  void queue(LaneState& lane) {
    lane.posted = false;
    if (lane.finished()) return;
    lane.spans->push_back({.queued = now_});
    // Lanes take turns: these are more streams than the hardware foresees.
    __builtin_prefetch(lane.ops + std::min(lane.next + 3, lane.size));
    __builtin_prefetch(&lane.spans->back() + 1, 1);
    if (!lane.needs) return;
    lane.need = lane.needs[lane.next];
    __builtin_prefetch(lane.needs + std::min(lane.next + 8, lane.size));
  }

  /// Posts what can start on a rank after something of it has ended.
  void look(int rank) {
    for (int own = first_lane_[rank]; own < first_lane_[rank + 1]; ++own) {
      LaneState& lane = lanes_[own];
      if (lane.posted || lane.finished() || lanes_[lane.need.lane].next < lane.need.ended) continue;
      lane.posted = true;
      lane.spans->back().start = now_;
      switch (lane.kind) {
        case LaneKind::compute: start(own, 1); break;
        case LaneKind::collectives: join_group(own); break;
        case LaneKind::send_forward:
        case LaneKind::recv_forward:
        case LaneKind::send_backward:
        case LaneKind::recv_backward: join_peer(own); break;
      }
    }
  }

  void start(int lane, int ends) { active_.start({&lanes_[lane].head(), lanes_[lane].rank, lane, ends}, now_); }

  void join_peer(int own) {
    const LaneState& lane = lanes_[own];
    if (lane.next >= lane.pairs) return;
    const LaneState& other = lanes_[lane.twin];
    if (other.posted && other.next == lane.next) start(sends(lane.kind) ? own : lane.twin, 2);
  }

  void join_group(int own) {
    const int stage = lane_of(lanes_[own]).key;
    const std::vector<int>& group = groups_[stage];
    if (++arrived_[stage] < std::ssize(group)) return;
    const Op& op = lanes_[own].head();
    if (std::ranges::any_of(group, [&](int other) { return lanes_[other].head() != op; })) return;
    arrived_[stage] = 0;
    start(group.front(), static_cast<int>(group.size()));
  }

  template <class Touch>
  void complete(int own, Touch touch) {
    const auto end = [&](int lane) {
      LaneState& state = lanes_[lane];
      state.spans->back().end = now_;
      ++state.next;
      queue(state);
      touch(state.rank);
    };
    if (lanes_[own].kind == LaneKind::collectives) {
      std::ranges::for_each(groups_[lane_of(lanes_[own]).key], end);
      return;
    }
    end(own);
    if (lanes_[own].twin >= 0) end(lanes_[own].twin);
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
        line += fmt::format(" {} of step {} on {}{}", to_text(lane.head()), lane.head().step, name(lane_of(lane)),
                            lane.posted ? " (posted)" : "");
      }
      if (!line.empty() && stuck++ < shown) waiting += fmt::format("; rank {} waits at{}", rank, line);
    }
    if (stuck == 0) return;
    if (stuck > shown) waiting += fmt::format("; and {} more ranks", stuck - shown);
    throw usage_error("plan", "a dead-lock" + waiting, "an order in which every operation can end",
                      "operations marked (posted) wait for their partner on another rank");
  }

  const Plan& plan_;
  Activities active_;
  double now_ = 0;
  std::vector<int> first_lane_ = {0};  ///< of each rank, and the number of all lanes
  std::vector<LaneState> lanes_;
  std::vector<std::vector<Need>> needs_;
  std::vector<int> arrived_;              ///< holders of each stage that have come to its next reduction
  std::vector<std::vector<int>> groups_;  ///< their lanes
  Timeline timeline_;
};

}  // namespace

Timeline simulate(const Plan& plan, const CostModel& cost) {
  if (cost.cores() > 0) return Simulation<SharingActivities>(plan, cost).run();
  return Simulation<IndependentActivities>(plan, cost).run();
}

}  // namespace parabench
