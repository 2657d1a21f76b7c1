// What people call an action: a stage's pass of one micro-batch, whatever number of segments it runs.
#pragma once

#include <string>
#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// Neighbours on a compute lane that differ in their segment alone, all of one stage.
struct Action {
  Op op;          ///< the first of them
  int first = 0;  ///< indices on the compute lane
  int last = 0;
  bool overlaps_next = false;
};
std::vector<Action> actions(const Plan& plan, Rank rank);

/// Micro-batch of the step, or of an asynchronous plan's window.
int number(const Plan& plan, const Op& op);
/// `F3`, `I0`, `R0` (recompute), `N` (norms), `U`. On a rank with several stages `2F3`, stage first; where two
/// pipelines meet on it `F3d` and `F3u`, down and up.
std::string to_text(const Plan& plan, Rank rank, const Action& action);

}  // namespace parabench::plan
