// What people call an action: a stage's forward or backward of one micro-batch, whatever number of segments it runs.
#pragma once

#include <string>
#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench {

/// Neighbours on a compute lane that differ in their segment alone.
struct Action {
  Op op;          ///< the first of them
  int first = 0;  ///< indices on the compute lane
  int last = 0;
};
std::vector<Action> actions(const RankProgram& rank);

/// Micro-batch of the step, or mini-batch of an asynchronous plan's window.
int number(const Plan& plan, const Op& op);
/// `F3`, `B0`, `U`.
std::string to_text(const Plan& plan, const Action& action);

}  // namespace parabench
