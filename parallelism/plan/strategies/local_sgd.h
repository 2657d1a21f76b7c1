// Data parallelism whose copies train by themselves and meet every few steps: local SGD (Stich, ICLR'19,
// arXiv 1805.09767), K-AVG (Zhou and Cong, IJCAI'18, arXiv 1708.01012) and, with an outer optimizer, DiLoCo (Douillard
// et al. 2023, arXiv 2311.08105).
#pragma once

#include <string_view>

#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

/// Of the parameters: defaults, and what they accept.
inline constexpr std::string_view usual_every = "4", every_expected = "a number of steps from 1 to 1000";
inline constexpr std::string_view usual_outer = "none", outer_expected = "none or nesterov";

/// What the definition of a case's strategy says, whoever asks; of strategies that average nothing: none. Outer
/// nesterov has the learning rate 0.7 and the momentum 0.9 of DiLoCo's paper. Throws usage_error for what a parameter
/// does not accept.
Averaging averaging(const Case& spec);

/// Copies that update their weights by the mean gradient of their own samples, over the `every` steps from one average
/// to the next. Weights are summed in buckets while the updates of the others go on. States of the optimizer and
/// statistics of norms stay each rank's own. A mean counts every copy alike, whatever the samples of its share. With
/// one
/// rank: sequential, which has no outer optimizer.
Plan local_sgd_plan(const StrategyInput& input);

/// The most local steps of a round that are compared with the reference: one whose successor is local too, and one
/// before an average. More of them add nothing but rounding, which grows with every step that no sum over ranks evens
/// out.
inline constexpr int most_verified_round = 2;

/// The plan with rounds of at most `most` local steps, the last ones of each, and its case to match; other plans, and
/// one that averages at other steps than its case says, as they are. `plan`: as its strategy wrote it.
Plan shorten_rounds(Plan plan, int most);

}  // namespace parabench::plan
