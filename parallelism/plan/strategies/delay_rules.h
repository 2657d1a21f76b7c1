// Which weights a strategy trains with: the published rule, for a case and the ranks of its stages.
#pragma once

#include <span>
#include <vector>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// The rule of each stage, by the definition of the case's strategy; `widths`: ranks that share each stage. Synchronous
/// strategies: every step reads what the step before wrote. Who writes a plan takes Plan::versions from here, and who
/// judges one trains by this rule, whatever the plan says of itself. Throws usage_error for an unknown strategy.
std::vector<VersionRule> delay_rules(const Case& spec, std::span<const int> widths);
/// The same for the stages and ranks of a plan. O(ranks + stages).
std::vector<VersionRule> delay_rules(const Plan& plan);

/// Whether its definition has steps read older weights, or leave their gradients to a later step's update.
bool delays_updates(const Case& spec);

/// Mini-batches that a rank of each stage starts before it first goes backward: as many as keep all ranks behind it
/// busy, floor((R - 1) / r), r being the ranks of its stage and R those of it and of all stages behind.
std::vector<int> mini_batches_ahead(std::span<const int> widths);

/// PipeDream with weight stashing (Narayanan et al., SOSP'19, 3.3): a mini-batch reads, in both passes, the latest
/// weights that its rank has when it starts. Stage s of P, one rank each: w_s(t - (P - 1 - s)); with r ranks per stage,
/// whose gradients of r mini-batches are one update, as many updates less as mini-batches are started ahead.
std::vector<VersionRule> weight_stashing(const Case& spec, std::span<const int> widths);

/// PipeDream-2BW (Narayanan et al., ICML'21, 3.1): one update of delay on every stage,
/// w(t + 1) = w(t) - lr grad f(w(t - 1)).
std::vector<VersionRule> double_buffering(const Case& spec, std::span<const int> widths);

/// Steps to train for a comparison with the reference: every stage has read versions that updates wrote, a captured
/// step was replayed on pieces other than its own, and weights were averaged twice, the last time at the end, in rounds
/// of most_verified_round (local_sgd.h); 3 or more.
int equivalence_steps(const Plan& plan);

}  // namespace parabench::plan
