#include "analytic/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analytic/activities.h"
#include "base/error.h"
#include "parallelism/plan/dependencies.h"

namespace parabench {
namespace {

/// How many operations of each lane of the rank must have ended before an operation starts. Lanes run in order, so
/// one count per lane says as much as the list of dependencies.
using Needs = std::array<std::int32_t, lane_count>;
using RankNeeds = std::array<std::vector<Needs>, lane_count>;

RankNeeds needs_of(const Plan& plan, Rank rank) {
  const LocalDependencies local = dependencies(plan, rank);
  RankNeeds needs;
  for (int lane = 0; lane < lane_count; ++lane) {
    needs[lane].assign(local[lane].size(), Needs{});
    for (std::size_t i = 0; i < local[lane].size(); ++i) {
      for (const OpRef& before : local[lane][i]) {
        std::int32_t& count = needs[lane][i][static_cast<int>(before.lane)];
        count = std::max(count, before.index + 1);
      }
    }
  }
  return needs;
}

/// `a` is a send or receive of the rank that is `b`'s peer: whether they are the two ends of one message.
bool meet(const Op& a, const Op& b) {
  if (is_send(a.kind) == is_send(b.kind) || a.micro_batch != b.micro_batch || a.step != b.step) return false;
  const Op& send = is_send(a.kind) ? a : b;
  const Op& receive = is_send(a.kind) ? b : a;
  const int towards = send.kind == OpKind::send_forward ? 1 : -1;
  return send.segment.value + towards == receive.segment.value;
}

template <class Activities>
class Simulation {
 public:
  Simulation(const Plan& plan, const CostModel& cost)
      : plan_(plan), active_(plan, cost), state_(plan.ranks.size()), group_(plan.stages) {
    timeline_.ranks.resize(plan.ranks.size());
    for (int rank = 0; rank < ranks(); ++rank) {
      needs_.push_back(needs_of(plan, Rank(rank)));
      for (int lane = 0; lane < lane_count; ++lane) {
        timeline_.ranks[rank][lane].resize(plan.ranks[rank].lanes[lane].size());
      }
      group_[plan.ranks[rank].stage.value].members.push_back(rank);
    }
  }

  Timeline run() {
    for (int rank = 0; rank < ranks(); ++rank) look(rank);
    std::vector<Activity> ended;
    std::vector<int> touched;
    while (!active_.empty()) {
      ended.clear();
      touched.clear();
      now_ = active_.finish(ended);
      for (const Activity& activity : ended) complete(activity, touched);
      // Ranks look in ascending order, whatever the order of the endings.
      std::ranges::sort(touched);
      touched.erase(std::ranges::unique(touched).begin(), touched.end());
      for (const int rank : touched) look(rank);
    }
    require_finished();
    return std::move(timeline_);
  }

 private:
  struct LaneState {
    std::int32_t next = 0;  ///< operations that have ended
    bool posted = false;    ///< the next one's dependencies have ended
  };
  using RankState = std::array<LaneState, lane_count>;
  struct Group {
    std::vector<int> members;
    std::size_t arrived = 0;
  };

  int ranks() const { return static_cast<int>(plan_.ranks.size()); }
  const LaneState& state(int rank, Lane lane) const { return state_[rank][static_cast<int>(lane)]; }
  const std::vector<Op>& ops(int rank, Lane lane) const { return plan_.ranks[rank].lane(lane); }
  const Op& head(int rank, Lane lane) const { return ops(rank, lane)[state(rank, lane).next]; }
  bool finished(int rank, Lane lane) const { return state(rank, lane).next == std::ssize(ops(rank, lane)); }

  /// Posts what can start on a rank after something of it has ended.
  void look(int rank) {
    for (const Lane lane : all_lanes) {
      LaneState& s = state_[rank][static_cast<int>(lane)];
      if (s.posted || finished(rank, lane) || !satisfied(rank, lane)) continue;
      s.posted = true;
      timeline_.ranks[rank][static_cast<int>(lane)][s.next].start = now_;
      switch (lane) {
        case Lane::compute: active_.start({rank, lane, s.next, 1}, now_); break;
        case Lane::collectives: join_group(rank); break;
        case Lane::p2p_forward:
        case Lane::p2p_backward: join_peer(rank, lane); break;
      }
    }
  }

  bool satisfied(int rank, Lane lane) const {
    const Needs& needs = needs_[rank][static_cast<int>(lane)][state(rank, lane).next];
    for (int other = 0; other < lane_count; ++other) {
      if (state_[rank][other].next < needs[other]) return false;
    }
    return true;
  }

  void join_peer(int rank, Lane lane) {
    const Op& op = head(rank, lane);
    const int peer = op.peer.value;
    if (peer < 0 || peer >= ranks() || !state(peer, lane).posted) return;
    const Op& other = head(peer, lane);
    if (other.peer.value != rank || !meet(op, other)) return;
    const int sender = is_send(op.kind) ? rank : peer;
    active_.start({sender, lane, state(sender, lane).next, 2}, now_);
  }

  void join_group(int rank) {
    Group& group = group_[plan_.ranks[rank].stage.value];
    if (++group.arrived < group.members.size()) return;
    const Op& op = head(rank, Lane::collectives);
    for (const int member : group.members) {
      if (head(member, Lane::collectives) != op) return;
    }
    group.arrived = 0;
    const int first = group.members.front();
    active_.start(
        {first, Lane::collectives, state(first, Lane::collectives).next, static_cast<int>(group.members.size())}, now_);
  }

  void complete(const Activity& activity, std::vector<int>& touched) {
    switch (activity.lane) {
      case Lane::compute: end(activity.rank, activity.lane, touched); break;
      case Lane::collectives:
        for (const int member : group_[plan_.ranks[activity.rank].stage.value].members) {
          end(member, activity.lane, touched);
        }
        break;
      case Lane::p2p_forward:
      case Lane::p2p_backward: {
        const int receiver = head(activity.rank, activity.lane).peer.value;
        end(activity.rank, activity.lane, touched);
        end(receiver, activity.lane, touched);
        break;
      }
    }
  }

  void end(int rank, Lane lane, std::vector<int>& touched) {
    LaneState& s = state_[rank][static_cast<int>(lane)];
    auto& spans = timeline_.ranks[rank][static_cast<int>(lane)];
    spans[s.next].end = now_;
    s.posted = false;
    if (++s.next < std::ssize(spans)) spans[s.next].queued = now_;
    touched.push_back(rank);
  }

  void require_finished() const {
    constexpr int shown = 16;
    std::string waiting;
    int stuck = 0;
    for (int rank = 0; rank < ranks(); ++rank) {
      std::string line;
      for (const Lane lane : all_lanes) {
        if (finished(rank, lane)) continue;
        const Op& op = head(rank, lane);
        line += fmt::format(" {} of step {} on {}{}", to_text(op), op.step, name(lane),
                            state(rank, lane).posted ? " (posted)" : "");
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
  std::vector<RankNeeds> needs_;
  std::vector<RankState> state_;
  std::vector<Group> group_;  ///< the replicas of each stage
  Timeline timeline_;
};

}  // namespace

Timeline simulate(const Plan& plan, const CostModel& cost) {
  if (cost.cores() > 0) return Simulation<SharingActivities>(plan, cost).run();
  return Simulation<IndependentActivities>(plan, cost).run();
}

}  // namespace parabench
