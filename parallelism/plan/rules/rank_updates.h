// What happens to the parameters of one rank, counted by segment and step, for the rules about it.
#pragma once

#include <string>
#include <vector>

#include "base/compression.h"
#include "parallelism/plan/validate.h"

namespace parabench::plan {

/// Operations of one kind on one segment in one step.
struct Counted {
  int count = 0;
  const Op* op = nullptr;  ///< the latest
};

struct UpdateStep {
  Counted sum, update, exchange;  ///< of gradients, of parameters, of what updates wrote
  Counted share_sum;              ///< of gradients after a reduce-scatter
  Counted norms, norm_sum;
  Counted average;
  Counted encode, project, projected, decode;  ///< beside the sum of what was encoded
  Counted push, pull, add;  ///< gradients to a server and weights from it, on its workers; what it adds
  Counted made;             ///< passes that make gradients
};

/// Operations of one rank, and where the rules about them put what breaks them. The plan outlives it.
struct RankUpdates {
  const Plan& plan;
  Rank rank;
  Violations& found;
  bool reads_norms = false;  ///< whether the optimizer does
  Compression compression;
  std::vector<std::vector<UpdateStep>> steps;  ///< [segment][step]

  const UpdateStep& at(SegmentId s, StepId step) const { return steps[s.value][step.value]; }
  const std::vector<Rank>& members(const Op& op) const { return plan.groups[op.group.value].ranks; }
  /// Whether holders of a stage sum its gradients micro-batch by micro-batch.
  bool scatters(const std::vector<Rank>& sharers) const { return plan.scatters_pieces && sharers.size() > 1; }

  void complain(std::string rule, const Op& op, const std::string& what) const;
  /// `missing`: what is to be there, for people.
  void check_count(const Counted& counted, int due, const Op& missing) const;
};
/// Without operations.
RankUpdates rank_updates(const Plan& plan, Rank rank, Violations& found);

/// Whether both are of the same shares of the same segments.
bool same_run(const Op& a, const Op& b);
/// Adds "<op> of step <step> <what> on rank <rank>".
void complain_of(const Op& op, Rank rank, std::string rule, const std::string& what, Violations& found);

}  // namespace parabench::plan
