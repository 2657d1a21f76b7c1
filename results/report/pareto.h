// Which of several points no other one beats.
#pragma once

#include <span>
#include <vector>

namespace parabench::results {

struct Cost {
  double time, memory;
};

/// For each point whether no other one is at least as good in both and better in one. A point with a value that is not
/// positive and finite is on no front, and beats none. O(n log n).
std::vector<bool> pareto_front(std::span<const Cost> points);

}  // namespace parabench::results
