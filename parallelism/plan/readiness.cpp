#include "parallelism/plan/readiness.h"

#include <algorithm>
#include <array>
#include <optional>

#include "parallelism/plan/state/buffers.h"

namespace parabench::plan {
namespace {

constexpr int nowhere = -1;

/// At most so many at a time: the k-th arrival waits for departure k - most.
class Berths {
 public:
  /// An arrival of the plan's order, which takes the next berth.
  void arrive(int index) { arrivals_.push_back(index), most_ = std::max(most_, std::ssize(arrivals_) - departed()); }
  void depart(int index) { departures_.push_back(index); }
  void keep(std::vector<std::vector<int>>& order) const {
    for (auto k = most_; k < std::ssize(arrivals_); ++k) order[arrivals_[k]].push_back(departures_[k - most_]);
  }

 private:
  std::ptrdiff_t departed() const { return std::ssize(departures_); }

  std::vector<int> arrivals_, departures_;
  std::ptrdiff_t most_ = 0;
};

class KeptOrder {
 public:
  KeptOrder(const Plan& plan, Rank rank)
      : plan_(plan),
        ops_(plan.ranks[rank.value].compute()),
        order_(ops_.size()),
        gradients_(plan.segments.size(), nowhere),
        is_again_(plan.segments.size(), 0),
        weight_buffers_(buffers_of(plan, rank, plan.room.weights)),
        gradient_buffers_(buffers_of(plan, rank, plan.room.gradients)),
        weights_there_(weight_buffers_.count, nowhere),
        gradients_there_(gradient_buffers_.count, nowhere) {
    for (auto& of_kind : passes_) of_kind.assign(plan.segments.size(), nowhere);
  }

  std::vector<std::vector<int>> find() {
    for (int i = 0; i < std::ssize(ops_); ++i) visit(ops_[i], i);
    in_flight_.keep(order_);
    again_.keep(order_);
    for (auto& before : order_) {
      std::ranges::sort(before);
      before.erase(std::unique(before.begin(), before.end()), before.end());
    }
    return std::move(order_);
  }

 private:
  void follow(int& last, int index) {
    if (last != nowhere && last != index) order_[index].push_back(last);
    last = index;
  }

  /// Where the gradients of a segment are told apart from others'.
  int& gradients_of(SegmentId s) {
    const auto& tie = plan_.tie;
    return gradients_[(tie && tie->shared && s == tie->copy ? tie->original : s).value];
  }

  void visit(const Op& op, int index) {
    if (is_pass(op.kind)) visit_pass(op, index);
    if (!makes_weight_gradient(op.kind) && op.kind != OpKind::update && op.kind != OpKind::add) return;
    for (int i = 0; i < op.segments; ++i) {
      const SegmentId s(op.segment.value + i);
      follow(gradients_of(s), index);
      if (plan_.room.gradients > 0) take_turns(gradient_buffers_, gradients_there_, s, index);
    }
  }

  void visit_pass(const Op& op, int index) {
    const int s = op.segment.value;
    follow(passes_[static_cast<int>(op.kind)][s], index);
    if (plan_.room.weights > 0) {
      take_turns(weight_buffers_, weights_there_, op.segment, index);
      if (const auto& tie = plan_.tie; tie && tie->shared && op.segment == tie->copy)
        take_turns(weight_buffers_, weights_there_, tie->original, index);
    }
    if (op.kind == OpKind::recompute) {
      again_.arrive(index);
      ++is_again_[s];
    }
    if (!makes_weight_gradient(op.kind) && op.kind != OpKind::forward) return;
    if (makes_weight_gradient(op.kind) && is_again_[s] > 0) {
      again_.depart(index);
      --is_again_[s];
    }
    if (op.segment != segments_of(plan_, stage_of(plan_, op.segment)).first) return;
    op.kind == OpKind::forward ? in_flight_.arrive(index) : in_flight_.depart(index);
  }

  void take_turns(const Buffers& buffers, std::vector<int>& there, SegmentId s, int index) {
    if (buffers.run_of[s.value] >= 0) follow(there[buffers.of(s)], index);
  }

  const Plan& plan_;
  const std::vector<Op>& ops_;
  std::vector<std::vector<int>> order_;
  static constexpr int pass_kinds = static_cast<int>(OpKind::recompute) + 1;
  std::array<std::vector<int>, pass_kinds> passes_;  ///< [kind][segment] the latest
  std::vector<int> gradients_;                       ///< [segment] the latest that touched them
  Berths in_flight_, again_;
  std::vector<int> is_again_;  ///< [segment] graphs there now that were made again
  Buffers weight_buffers_, gradient_buffers_;
  std::vector<int> weights_there_, gradients_there_;  ///< [buffer] the latest that read, or wrote, what is there
};

}  // namespace

std::vector<std::vector<int>> kept_order(const Plan& plan, Rank rank) { return KeptOrder(plan, rank).find(); }

Readiness::Readiness(const Plan& plan, Rank rank, const LocalDependencies& needs) : rank_(rank), first_{0} {
  const std::vector<Lane>& lanes = plan.ranks[rank.value].lanes;
  for (const Lane& lane : lanes) first_.push_back(first_.back() + static_cast<int>(lane.ops.size()));
  const std::vector<std::vector<int>> order = kept_order(plan, rank);
  // Twice the same walk: how many wait for each, then who.
  const auto for_each_need = [&](auto visit) {
    for (int lane = 0; lane < std::ssize(lanes); ++lane) {
      for (int i = 0; i < std::ssize(lanes[lane].ops); ++i) {
        const int waits = first_[lane] + i;
        for (const OpRef& ref : needs.of(lane, i)) visit(number(ref), waits);
        if (lane != compute_lane && i > 0) visit(waits - 1, waits);
        if (lane != compute_lane) continue;
        for (const int before : order[i]) visit(before, waits);
      }
    }
  };
  open_.assign(first_.back(), 0);
  begin_.assign(first_.back() + 1, 0);
  for_each_need([&](int before, int waits) { ++begin_[before + 1], ++open_[waits]; });
  for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  waiting_.resize(begin_.back());
  std::vector<int> next(begin_.begin(), begin_.end() - 1);
  for_each_need([&](int before, int waits) { waiting_[next[before]++] = waits; });
}

OpRef Readiness::ref(int number) const {
  const auto lane = std::ranges::upper_bound(first_, number) - first_.begin() - 1;
  return {rank_, static_cast<int>(lane), number - first_[lane]};
}

std::vector<OpRef> Readiness::initial() const {
  std::vector<OpRef> ready;
  for (int i = 0; i < std::ssize(open_); ++i)
    if (open_[i] == 0) ready.push_back(ref(i));
  return ready;
}

void Readiness::end(const OpRef& op, std::vector<OpRef>& ready) {
  for (int i = begin_[number(op)]; i < begin_[number(op) + 1]; ++i)
    if (--open_[waiting_[i]] == 0) ready.push_back(ref(waiting_[i]));
}

}  // namespace parabench::plan
