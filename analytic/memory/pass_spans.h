// When each pass of a rank ran, and when what follows from it was sent to a neighbour.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "parallelism/plan/timeline.h"

namespace parabench::analytic {

/// Of one rank over a simulated timeline, whose spans [lane][index] outlive it. O(operations) to make, O(1) to ask.
class PassSpans {
 public:
  PassSpans(const plan::Plan& plan, Rank rank, std::span<const std::vector<plan::Span>> spans);

  /// Of the segments that the rank holds: ascending from 0; -1 of others.
  int row(SegmentId segment) const { return row_[segment.value]; }

  /// Of the pass of `kind` that handles the piece of `op` on another segment; nullptr where the rank has none.
  const plan::Span* find(plan::OpKind kind, const plan::Op& op, int segments_away) const {
    const int segment = op.segment.value + segments_away;
    if (segment < 0 || segment >= std::ssize(row_) || row_[segment] < 0) return nullptr;
    return spans_[static_cast<int>(kind)][place(op, segment)];
  }
  /// Of B or I, likewise.
  const plan::Span* find_input_gradient(const plan::Op& op, int segments_away) const {
    const plan::Span* whole = find(plan::OpKind::backward, op, segments_away);
    return whole ? whole : find(plan::OpKind::backward_input, op, segments_away);
  }
  /// Of the message with what a pass made for the segment next to its own; nullptr where nothing is sent.
  const plan::Span* find_send(plan::Payload payload, const plan::Op& op) const {
    return spans_[row_of(payload)][place(op, op.segment.value)];
  }

 private:
  static int row_of(plan::Payload payload) { return pass_kinds + (payload == plan::Payload::activation ? 0 : 1); }
  std::size_t place(const plan::Op& op, int segment) const {
    return (static_cast<std::size_t>(row_[segment]) * steps_ + op.step.value) * micro_batches_ + op.micro_batch.value;
  }

  int steps_, micro_batches_;
  std::vector<int> row_;  ///< by segment; -1: the rank does not hold it
  static constexpr int pass_kinds = static_cast<int>(plan::OpKind::recompute) + 1;
  std::array<std::vector<const plan::Span*>, pass_kinds + 2> spans_;  ///< [kind, or send][row][step][micro-batch]
};

}  // namespace parabench::analytic
