// Cutting a chain of layers into consecutive stages.
#pragma once

#include <span>
#include <vector>

namespace parabench {

/// Layers per stage so that the largest stage sum is minimal: exact dynamic programme
/// D[i][k] = min_j max(D[j][k-1], S_i - S_j), O(n^2 k) time. Among optima the first in lexicographic
/// order of stage sizes. Every stage holds at least one layer. Precondition: 1 <= stages <= costs.size(), costs >= 0.
std::vector<int> min_max_partition(std::span<const double> costs, int stages);

/// Equal numbers of layers, larger stages first.
std::vector<int> uniform_partition(int layers, int stages);

}  // namespace parabench
