#include "tests/parallelism/plan/meaning.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "tests/parallelism/plan/symbolic_rank.h"

namespace parabench::plan {
namespace {

class SymbolicRun {
 public:
  SymbolicRun(const Plan& plan, const std::vector<LayerSkip>& skips) : plan_(plan) {
    for (int r = 0; r < std::ssize(plan.ranks); ++r) {
      ranks_.emplace_back(plan, skips, Rank(r), trained_);
      next_.emplace_back(plan.ranks[r].lanes.size(), 0);
    }
  }

  Meaning run() {
    require(batch_samples(plan_) == plan_.spec.batch);
    for (bool progress = true; progress;) {
      progress = false;
      for (int r = 0; r < std::ssize(plan_.ranks); ++r) {
        for (int l = 0; l < std::ssize(plan_.ranks[r].lanes); ++l) {
          while (try_next(r, l)) progress = true;
        }
      }
    }
    for (int r = 0; r < std::ssize(plan_.ranks); ++r) {
      for (int l = 0; l < std::ssize(plan_.ranks[r].lanes); ++l) require(is_done(r, l));
      require(ranks_[r].is_left_with_nothing());
    }
    return trained_;
  }

 private:
  const Op& head(int r, int l) const { return plan_.ranks[r].lanes[l].ops[next_[r][l]]; }
  bool is_done(int r, int l) const { return next_[r][l] == std::ssize(plan_.ranks[r].lanes[l].ops); }

  bool try_next(int r, int l) {
    if (is_done(r, l)) return false;
    const Op& op = head(r, l);
    const LaneKey& key = plan_.ranks[r].lanes[l].key;
    if (key.kind == LaneKind::collectives) {
      if (key.purpose == Payload::norms) return try_sum_of_norms(key, op);
      if (key.purpose == Payload::gradient_shares) return try_sum_of_shares(key, op);
      if (key.purpose == Payload::projected)
        return try_members(key, op, &SymbolicRank::is_projected, &SymbolicRank::take_projected);
      return key.purpose == Payload::parameters ? try_gather(key, op) : try_reduce(key, op);
    }
    if (is_message(key.kind)) return op.kind == OpKind::send && try_send(r, l, op);
    if (!ranks_[r].try_compute(op)) return false;
    ++next_[r][l];
    return true;
  }

  /// Gradients of a run to its server, or weights back.
  bool try_serve(int r, int l, const Op& send) {
    const bool pushes = send.payload == Payload::gradients;
    if (pushes ? !ranks_[r].gradients_are_complete(send) : !ranks_[r].has_written(send)) return false;
    const int peer = send.peer.value, theirs = plan_.ranks[peer].find_lane(other_end(lane_of(send), Rank(r)));
    if (theirs < 0 || is_done(peer, theirs)) return false;
    const Op& receive = head(peer, theirs);
    require(receive == receive_of(send, Rank(r), plan_.skips));
    if (pushes) {
      for (int s = send.segment.value; s < send.segment.value + send.segments; ++s)
        ranks_[peer].take_push(receive, s, ranks_[r].sums(send, s));
      ranks_[r].end_push(send);
    } else {
      if (!ranks_[peer].try_pull(receive)) return false;
      ranks_[r].end_pull(send);
    }
    ++next_[r][l];
    ++next_[peer][theirs];
    return true;
  }

  bool try_send(int r, int l, const Op& op) {
    if (is_over_run(op)) return try_serve(r, l, op);
    const auto payload = ranks_[r].payload(op);
    if (!payload) return false;
    const int peer = op.peer.value;
    const int theirs = plan_.ranks[peer].find_lane(other_end(lane_of(op), Rank(r)));
    if (theirs < 0 || is_done(peer, theirs)) return false;
    const Op& receive = head(peer, theirs);
    require(receive.peer.value == r);
    ranks_[peer].take(receive, *payload);
    ++next_[r][l];
    ++next_[peer][theirs];
    return true;
  }

  bool try_reduce(const LaneKey& key, const Op& op) {
    const bool compressed = key.purpose == Payload::encoded;
    const bool sums = op.kind == OpKind::all_reduce || op.kind == OpKind::reduce_scatter;
    const OpKind as_encoded = plan_.spec.compress.name == "topk" ? OpKind::all_gather : OpKind::all_reduce;
    const std::vector<Rank>& members = plan_.groups[key.group.value].ranks;
    require((compressed ? op.kind == as_encoded : sums && plan_.spec.compress.name == "none") &&
            (op.kind == OpKind::reduce_scatter || members == holders(plan_, stage_of(plan_, op.segment))));
    std::vector<std::pair<int, int>> lanes;
    for (Rank holder : members) {
      const int lane = plan_.ranks[holder.value].find_lane(key);
      if (lane < 0 || is_done(holder.value, lane)) return false;
      const SymbolicRank& rank = ranks_[holder.value];
      if (!(compressed ? rank.is_encoded(op) : rank.gradients_are_complete(op))) return false;
      require(head(holder.value, lane) == op);
      lanes.push_back({holder.value, lane});
    }
    require(lanes.size() > 1);
    bool is_last = true;
    for (const auto& [holder, lane] : lanes) {
      is_last = ranks_[holder].completes(op) && is_last;
      ++next_[holder][lane];
    }
    if (!is_last) return true;
    for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) {
      std::vector<std::uint64_t> total(plan_.segments[s].layers, 0);
      for (const auto& [holder, lane] : lanes) {
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += ranks_[holder].sums(op, s)[i];
      }
      for (const auto& [holder, lane] : lanes)
        compressed ? ranks_[holder].take_encoded(op, s, total) : ranks_[holder].replace_sums(op, s, total);
    }
    return true;
  }

  /// Between ranks that have the same share of a run, each among others.
  bool try_sum_of_shares(const LaneKey& key, const Op& op) {
    require(op.kind == OpKind::all_reduce);
    const auto place = [&](Rank member, const Op& scatter) {
      const std::vector<Rank>& sharers = plan_.groups[scatter.group.value].ranks;
      return std::pair(std::ranges::find(sharers, member) - sharers.begin(), sharers.size());
    };
    const std::vector<Rank>& members = plan_.groups[key.group.value].ranks;
    std::set<std::pair<std::ptrdiff_t, std::size_t>> places;
    for (Rank member : members) {
      const int lane = plan_.ranks[member.value].find_lane(key);
      if (lane < 0 || is_done(member.value, lane)) return false;
      const auto scatter = ranks_[member.value].scattered(op);
      if (!scatter) return false;
      require(head(member.value, lane) == op);
      places.insert(place(member, *scatter));
    }
    require(members.size() > 1 && places.size() == 1);
    for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) {
      std::vector<std::uint64_t> total(plan_.segments[s].layers, 0);
      for (Rank member : members) {
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += ranks_[member.value].sums(op, s)[i];
      }
      for (Rank member : members) ranks_[member.value].replace_share_sums(op, s, total);
    }
    for (Rank member : members) ++next_[member.value][plan_.ranks[member.value].find_lane(key)];
    return true;
  }

  bool try_gather(const LaneKey& key, const Op& op) {
    if (op.kind == OpKind::all_reduce)
      return try_members(key, op, &SymbolicRank::weights_are_written, &SymbolicRank::take_weight_sum);
    require(op.kind == OpKind::all_gather);
    if (plan_.room.weights > 0) return try_members(key, op, &SymbolicRank::has_room_for, &SymbolicRank::take_weights);
    return try_members(key, op, &SymbolicRank::share_is_written, &SymbolicRank::complete_shares);
  }

  bool try_sum_of_norms(const LaneKey& key, const Op& op) {
    require(op.kind == OpKind::all_reduce);
    return try_members(key, op, &SymbolicRank::norms_are_measured, &SymbolicRank::take_norms);
  }

  bool try_members(const LaneKey& key, const Op& op, bool (SymbolicRank::*is_ready)(const Op&) const,
                   void (SymbolicRank::*end)(const Op&)) {
    const std::vector<Rank>& members = plan_.groups[key.group.value].ranks;
    for (Rank member : members) {
      const int lane = plan_.ranks[member.value].find_lane(key);
      if (lane < 0 || is_done(member.value, lane) || !(ranks_[member.value].*is_ready)(op)) return false;
      require(head(member.value, lane) == op);
    }
    for (Rank member : members) {
      (ranks_[member.value].*end)(op);
      ++next_[member.value][plan_.ranks[member.value].find_lane(key)];
    }
    return true;
  }

  const Plan& plan_;
  Meaning trained_;
  std::vector<SymbolicRank> ranks_;
  std::vector<std::vector<int>> next_;  ///< [rank][lane]
};

}  // namespace

std::optional<Meaning> meaning_of(const Plan& plan, const std::vector<LayerSkip>& skips) {
  try {
    return SymbolicRun(plan, skips).run();
  } catch (const Impossible&) {
    return std::nullopt;
  }
}

}  // namespace parabench::plan
