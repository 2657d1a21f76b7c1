// Where tables about one rank's operations keep what they know of which: rows by the segments that the rank holds.
#pragma once

#include <cstddef>
#include <vector>

#include "parallelism/plan/dependencies.h"

namespace parabench::plan {

/// In tables of indices on the compute lane: no such operation.
inline constexpr int nowhere = -1;
/// In tables of references: no such operation.
inline constexpr OpRef no_op{Rank(nowhere)};
inline bool is_known(const OpRef& ref) { return ref.rank.value != nowhere; }

/// Places of operations in three kinds of tables, each as long as its sizes below say. What an operation asks for at a
/// segment that the rank does not hold is missing(). The plan outlives it. O(segments) to make, O(1) to ask.
class OpPlaces {
 public:
  OpPlaces(const Plan& plan, Rank rank);
  const Plan& plan() const { return plan_; }
  Rank rank() const { return rank_; }
  bool holds(SegmentId s) const { return slot_[s.value] != nowhere; }

  /// Tables [segment held][step][micro-batch].
  std::size_t pieces() const { return held_ * plan_.steps * micro_batches(plan_); }
  /// Of the micro-batch of `op` at segment `s`.
  std::size_t piece(const Op& op, SegmentId s) const { return in_step(op, slot(op, s)); }

  /// Tables [port of a skip][step][micro-batch]; ports count from 1.
  std::size_t skips() const { return plan_.skips.size() * plan_.steps * micro_batches(plan_); }
  std::size_t skip(const Op& op, int port) const { return in_step(op, port - 1); }

  /// Tables [segment held][update, or version, or step], from 0 to Plan::steps.
  std::size_t updates() const { return held_ * updates_of_segment(); }
  std::size_t updates_of_segment() const { return static_cast<std::size_t>(plan_.steps) + 1; }
  std::size_t update(const Op& op, SegmentId s, int number) const {
    return slot(op, s) * updates_of_segment() + number;
  }
  /// The update of segment `s` that the operation's step adds to, and its place.
  int number(const Op& op, SegmentId s) const {
    return op.step.value / plan_.versions[stage_of(plan_, s).value].steps_per_update;
  }
  std::size_t due(const Op& op, SegmentId s) const { return update(op, s, number(op, s)); }

  /// Notes `value` for the update that each segment of a run adds to. Nowhere in an empty table, which is of what the
  /// plan has no lane for: who looks for it finds it missing.
  template <class Value>
  void put_due(const Op& run, const Value& value, std::vector<Value>& table) const {
    for (int i = 0; i < run.segments && !table.empty(); ++i) table[due(run, SegmentId(run.segment.value + i))] = value;
  }
  /// The same for the version of each segment's weights that an operation writes.
  template <class Value>
  void put_version(const Op& run, const Value& value, std::vector<Value>& table) const {
    for (int i = 0; i < run.segments && !table.empty() && run.version.value <= plan_.steps; ++i)
      table[update(run, SegmentId(run.segment.value + i), run.version.value)] = value;
  }

  /// The operation at an index of the compute lane, which is missing where that is nowhere.
  OpRef compute(const Op& op, int index) const {
    if (index == nowhere) missing(op);
    return {rank_, compute_lane, index};
  }
  /// The same for who does without it.
  OpRef compute_if_any(int index) const { return index == nowhere ? no_op : OpRef{rank_, compute_lane, index}; }
  /// `ref`, which is missing where it is no_op.
  const OpRef& known(const Op& op, const OpRef& ref) const {
    if (!is_known(ref)) missing(op);
    return ref;
  }
  /// Throws usage_error: what `op` waits for is not in the plan.
  [[noreturn]] void missing(const Op& op) const;

 private:
  std::size_t slot(const Op& op, SegmentId s) const {
    if (!holds(s)) missing(op);
    return slot_[s.value];
  }
  std::size_t in_step(const Op& op, std::size_t row) const {
    return (row * plan_.steps + op.step.value) * micro_batches(plan_) + op.micro_batch.value;
  }

  const Plan& plan_;
  Rank rank_;
  std::vector<int> slot_;  ///< by segment: its row
  std::size_t held_ = 0;
};

/// Whether the rank has a lane of collectives for it.
bool has_collectives(const Plan& plan, Rank rank, Payload purpose);

}  // namespace parabench::plan
