// What writes each version of a segment's weights on one rank.
#pragma once

#include <vector>

#include "parallelism/plan/dependencies/op_places.h"

namespace parabench::plan {

/// Answers what dependencies.h says of versions of weights, but for those that come from servers (server_index.h), once
/// every operation was added. Of what is not in the plan OpPlaces::missing(). The places outlive it.
class WeightIndex {
 public:
  explicit WeightIndex(const OpPlaces& places);
  /// Notes updates, averages and what gathers or sums weights; no other operation.
  void add(const Op& op, const OpRef& ref);

  /// The operation's version: what gathered or averaged it, else its update. Precondition: the version is one of the
  /// window's.
  OpRef written(const Op& op, SegmentId s) const;
  /// The update to the operation's version.
  OpRef update_to(const Op& op, SegmentId s) const;
  /// The update that ends the operation's step; no_op where none does.
  OpRef update_after_step(const Op& op, SegmentId s) const {
    return places_.compute_if_any(update_to_[places_.due(op, s) + 1]);
  }
  /// The sum of the operation's version, of which an average is made.
  OpRef sum(const Op& op, SegmentId s) const;

 private:
  const OpPlaces& places_;
  std::vector<int> update_to_;          ///< by version -> compute lane
  std::vector<OpRef> gathered_, sums_;  ///< by version; empty where there are none
};

}  // namespace parabench::plan
