// What a plan computes, told without the code under test: a symbolic run of all ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {

/// [layer, version] -> a number that stands for these weights: a hash of the weights before and of every gradient that
/// the update applied, each with the weights and samples it came from. Sums do not depend on their order, and neither
/// cuts, segments nor ranks leave a trace, so two plans that train alike mean the same.
using Meaning = std::map<std::pair<int, int>, std::uint64_t>;

/// Empty where the plan cannot be carried out: a rank waits for ever, computes something twice, reads weights that are
/// overwritten or a graph that is gone, holders of a stage part ways, a declared limit or batch is not kept. `skips`:
/// those of the model.
std::optional<Meaning> meaning_of(const Plan& plan, const std::vector<LayerSkip>& skips = {});

}  // namespace parabench::plan
