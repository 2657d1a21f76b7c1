// What makes the gradients of a segment's weights on one rank, before anything sums them among replicas.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "parallelism/plan/dependencies/op_places.h"

namespace parabench::plan {

/// Answers what dependencies.h says of gradients, of those of tied tensors and of micro-batches that are summed one by
/// one, once every operation was added. Of what is not in the plan OpPlaces::missing(). The places outlive it.
class GradientIndex {
 public:
  explicit GradientIndex(const OpPlaces& places);
  /// Notes passes that make gradients of weights, additions, sums of a tied tensor's gradients and of micro-batches; no
  /// other operation.
  void add(const Op& op, const OpRef& ref);

  /// Adds what makes the gradients of a segment complete on this rank, but for its replicas' share.
  void complete(const Op& op, SegmentId s, std::vector<OpRef>& found) const;
  /// The last on the compute lane that adds to them before their update is due.
  OpRef last(const Op& op, SegmentId s) const { return places_.compute(op, last_[places_.due(op, s)]); }
  /// The same of the segment whose part of a tied tensor this rank has.
  OpRef last_of_tied(const Op& op) const;
  /// What makes those of the operation's micro-batch. Precondition: Plan::scatters_pieces.
  OpRef of_piece(const Op& op, SegmentId s) const { return places_.compute(op, of_piece_[places_.piece(op, s)]); }
  /// The reduce_scatter of the share that is added.
  OpRef scattered(const Op& add) const;

 private:
  const OpPlaces& places_;
  std::vector<int> last_;      ///< by update -> compute lane
  std::vector<int> of_piece_;  ///< by piece -> compute lane; empty where pieces are not summed one by one
  std::vector<OpRef> tied_;    ///< [update] the sum of the tied tensor's gradients
  std::map<std::tuple<SegmentId, StepId, MicroBatchId>, OpRef> scattered_;  ///< by run, where pieces are
};

}  // namespace parabench::plan
