// What sums the gradients of runs among the holders of a stage, whole, in shares or compressed, and norms of shares.
#pragma once

#include <vector>

#include "parallelism/plan/dependencies/op_places.h"

namespace parabench::plan {

/// Answers what dependencies.h says of sums of gradients and of norms, once every operation was added. Of what is not
/// in the plan OpPlaces::missing(), unless said otherwise. The places outlive it.
class SumIndex {
 public:
  explicit SumIndex(const OpPlaces& places);
  /// Notes sums of gradients, the steps of a compressed sum, norms and their sums; no other operation.
  void add(const Op& op, const OpRef& ref);

  /// The last part of a segment's sum, after which its lane has done the others; no_op where the segment is not
  /// reduced.
  OpRef reduction(const Op& op, SegmentId s) const { return reduction_[places_.due(op, s)]; }
  /// The same, of which there has to be one.
  OpRef scattered(const Op& op, SegmentId s) const { return places_.known(op, reduction(op, s)); }
  /// The same after shares were summed, where they are.
  OpRef whole(const Op& op, SegmentId s) const;
  OpRef norms(const Op& op, SegmentId s) const { return places_.compute(op, norms_[places_.due(op, s)]); }
  /// no_op where nothing sums the segment's norms.
  OpRef norm_sum(const Op& op, SegmentId s) const { return norm_sum_.empty() ? no_op : norm_sum_[places_.due(op, s)]; }
  OpRef encoding(const Op& op, SegmentId s) const { return step(op, s, encode_); }
  OpRef projecting(const Op& op, SegmentId s) const { return step(op, s, project_); }
  OpRef encoded(const Op& op, SegmentId s) const { return sum(op, s, encoded_); }
  /// The last collective of a compressed sum.
  OpRef compressed(const Op& op, SegmentId s) const;

 private:
  OpRef step(const Op& op, SegmentId s, const std::vector<int>& table) const {
    return places_.compute(op, table.empty() ? nowhere : table[places_.due(op, s)]);
  }
  OpRef sum(const Op& op, SegmentId s, const std::vector<OpRef>& table) const {
    return places_.known(op, table.empty() ? no_op : table[places_.due(op, s)]);
  }

  const OpPlaces& places_;
  // By update.
  std::vector<int> norms_;                   ///< -> compute lane
  std::vector<OpRef> reduction_;             ///< of gradients, or the decode that ends a compressed sum
  std::vector<OpRef> share_sum_, norm_sum_;  ///< empty where there are none
  std::vector<int> encode_, project_;        ///< -> compute lane; empty where nothing is compressed
  std::vector<OpRef> encoded_, projected_;   ///< the same
};

}  // namespace parabench::plan
