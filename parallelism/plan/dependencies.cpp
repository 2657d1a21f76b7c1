#include "parallelism/plan/dependencies.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "base/error.h"

namespace parabench {
namespace {

struct Key {
  OpKind kind;
  int segment, micro_batch, step;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  std::size_t operator()(const Key& k) const {
    std::uint64_t h = static_cast<std::uint64_t>(k.kind);
    for (int field : {k.segment, k.micro_batch, k.step}) {
      h = (h ^ static_cast<std::uint32_t>(field)) * 0x9e3779b97f4a7c15ULL;
      h ^= h >> 29;
    }
    return h;
  }
};

/// Where one rank's operations are. A run is found under each of its segments.
class OpIndex {
 public:
  OpIndex(const Plan& plan, Rank rank) {
    for (Lane lane : all_lanes) {
      const auto& ops = plan.ranks[rank.value].lane(lane);
      for (int i = 0; i < static_cast<int>(ops.size()); ++i) add(ops[i], {rank, lane, i});
    }
  }

  const OpRef* find(OpKind kind, SegmentId s, MicroBatchId m, int step) const {
    return lookup(ops_, {kind, s.value, m.value, step});
  }
  const OpRef* last_backward(SegmentId s, int step) const {
    return lookup(last_backward_, {OpKind::backward, s.value, 0, step});
  }
  const OpRef* update_to(SegmentId s, int version) const {
    return lookup(updates_, {OpKind::update, s.value, 0, version});
  }

 private:
  using Places = std::unordered_map<Key, OpRef, KeyHash>;
  static const OpRef* lookup(const Places& places, const Key& key) {
    auto found = places.find(key);
    return found == places.end() ? nullptr : &found->second;
  }
  void add(const Op& op, OpRef ref) {
    for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) {
      ops_.try_emplace({op.kind, s, op.micro_batch.value, op.step}, ref);
      if (op.kind == OpKind::backward) last_backward_[{op.kind, s, 0, op.step}] = ref;
      if (op.kind == OpKind::update) updates_.try_emplace({op.kind, s, 0, op.version}, ref);
    }
  }
  Places ops_, last_backward_, updates_;
};

class Finder {
 public:
  Finder(const Plan& plan, Rank rank) : plan_(plan), rank_(rank), index_(plan, rank) {}

  std::vector<OpRef> predecessors(const Op& op) const {
    switch (op.kind) {
      case OpKind::forward: return of_forward(op);
      case OpKind::backward: return of_backward(op);
      case OpKind::send_forward:
        return {required(op, index_.find(OpKind::forward, op.segment, op.micro_batch, op.step))};
      case OpKind::send_backward:
        return {required(op, index_.find(OpKind::backward, op.segment, op.micro_batch, op.step))};
      case OpKind::recv_forward:
      case OpKind::recv_backward: return {};
      case OpKind::all_reduce: return of_all_reduce(op);
      case OpKind::update: return of_update(op);
    }
    return {};
  }

 private:
  OpRef required(const Op& op, const OpRef* found) const {
    if (!found) {
      throw usage_error("plan",
                        to_text(op) + " of step " + std::to_string(op.step) + " on rank " + std::to_string(rank_.value),
                        "what it waits for on the same rank");
    }
    return *found;
  }

  std::vector<OpRef> of_forward(const Op& op) const {
    std::vector<OpRef> result;
    if (op.segment.value > 0) {
      const auto* local = index_.find(OpKind::forward, SegmentId(op.segment.value - 1), op.micro_batch, op.step);
      result.push_back(
          required(op, local ? local : index_.find(OpKind::recv_forward, op.segment, op.micro_batch, op.step)));
    }
    if (op.version > 0) result.push_back(required(op, index_.update_to(op.segment, op.version)));
    return result;
  }

  std::vector<OpRef> of_backward(const Op& op) const {
    std::vector<OpRef> result = {required(op, index_.find(OpKind::forward, op.segment, op.micro_batch, op.step))};
    if (op.segment.value + 1 < static_cast<int>(plan_.segments.size())) {
      const auto* local = index_.find(OpKind::backward, SegmentId(op.segment.value + 1), op.micro_batch, op.step);
      result.push_back(
          required(op, local ? local : index_.find(OpKind::recv_backward, op.segment, op.micro_batch, op.step)));
    }
    return result;
  }

  std::vector<OpRef> of_all_reduce(const Op& op) const {
    std::vector<OpRef> result;
    for (int i = 0; i < op.segments; ++i) {
      result.push_back(required(op, index_.last_backward(SegmentId(op.segment.value + i), op.step)));
    }
    return result;
  }

  std::vector<OpRef> of_update(const Op& op) const {
    std::vector<OpRef> result;
    for (int i = 0; i < op.segments; ++i) {
      const SegmentId s(op.segment.value + i);
      const auto* reduced = index_.find(OpKind::all_reduce, s, MicroBatchId(0), op.step);
      const OpRef ref = required(op, reduced ? reduced : index_.last_backward(s, op.step));
      // One reduction serves neighbours of the run.
      if (result.empty() || result.back() != ref) result.push_back(ref);
    }
    return result;
  }

  const Plan& plan_;
  Rank rank_;
  OpIndex index_;
};

}  // namespace

const Op& at(const Plan& plan, OpRef ref) { return plan.ranks[ref.rank.value].lane(ref.lane)[ref.index]; }

LocalDependencies dependencies(const Plan& plan, Rank rank) {
  const Finder finder(plan, rank);
  LocalDependencies result;
  for (Lane lane : all_lanes) {
    auto& of_lane = result[static_cast<int>(lane)];
    for (const Op& op : plan.ranks[rank.value].lane(lane)) of_lane.push_back(finder.predecessors(op));
  }
  return result;
}

}  // namespace parabench
