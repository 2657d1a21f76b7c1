// Lists per axis become cases.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/case.h"
#include "base/json_reader.h"

namespace parabench::suite {

/// Every combination of the axes of one grid, in the order of ids, the last axis fastest: {"model": [...], "np": [2,
/// 4], ...}. An axis may be a single value. Throws usage_error naming the place for an unknown axis or value, an empty
/// list, one of model, dataset, strategy, np and batch that is missing, and more than `most` combinations, with their
/// number and `hint`.
std::vector<Case> grid_cases(const JsonReader& grid, std::size_t most = 100'000,
                             std::string_view hint = "make several files");

}  // namespace parabench::suite
