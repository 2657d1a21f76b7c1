// The passes of one rank, and what brings each piece of an activation, of its gradient or of a skip to a segment.
#pragma once

#include <vector>

#include "parallelism/plan/dependencies/op_places.h"

namespace parabench::plan {

/// Answers what dependencies.h says of activations, their gradients and skips, once every operation was added. Of what
/// is not in the plan OpPlaces::missing(). The places outlive it.
class PassIndex {
 public:
  explicit PassIndex(const OpPlaces& places);
  /// Notes a pass, or what moves or sums activations or their gradients; no other operation.
  void add(const Op& op, const OpRef& ref);

  OpRef forward(const Op& op) const { return places_.compute(op, forward_[places_.piece(op, op.segment)]); }
  OpRef input_gradient(const Op& op) const {
    return places_.compute(op, input_gradient_[places_.piece(op, op.segment)]);
  }
  /// The recomputed forward where there is one.
  OpRef graph(const Op& op) const {
    const int again = recompute_[places_.piece(op, op.segment)];
    return again == nowhere ? forward(op) : places_.compute(op, again);
  }
  /// What the segment itself makes, complete.
  OpRef activation(const Op& op) const { return complete(op, op.segment, forward_, summed_forward_); }
  OpRef activation_gradient(const Op& op) const { return complete(op, op.segment, input_gradient_, summed_backward_); }
  /// What its neighbours make for it.
  OpRef incoming_activation(const Op& op) const;
  OpRef incoming_gradient(const Op& op) const;
  /// What a skip brings to the segment that takes it. An earlier port of the same tensor may have brought it here.
  OpRef incoming_skip(const Op& op, int port) const;
  /// The gradient that a skip brings back to the segment that made it; no_op where an earlier port of the same tensor
  /// brings the sum.
  OpRef incoming_skip_gradient(const Op& op, int port) const;

 private:
  OpRef complete(const Op& op, SegmentId s, const std::vector<int>& computed, const std::vector<OpRef>& summed) const;
  bool is_computed(const Op& op, SegmentId other, const std::vector<int>& computed) const;
  OpRef incoming(const Op& op, SegmentId neighbour, const std::vector<int>& computed, const std::vector<OpRef>& summed,
                 const std::vector<OpRef>& received) const;

  const OpPlaces& places_;
  std::vector<int> forward_, recompute_, input_gradient_;    ///< by piece -> compute lane
  std::vector<OpRef> received_forward_, received_backward_;  ///< by piece
  std::vector<OpRef> skip_forward_, skip_backward_;          ///< by skip, received
  std::vector<OpRef> summed_forward_, summed_backward_;      ///< by piece; empty where nothing is summed
};

}  // namespace parabench::plan
