// Random places in a plan.
#pragma once

#include <random>
#include <utility>
#include <vector>

#include "parallelism/plan/plan.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {

/// From 0 on.
inline int below(std::mt19937& random, std::size_t end) { return uniform(random, 0, static_cast<int>(end) - 1); }

/// An operation, as its lane and place there; false where none was found.
struct Place {
  std::vector<Op>* ops = nullptr;
  int index = 0;
  explicit operator bool() const { return ops != nullptr; }
  Op& op() const { return (*ops)[index]; }
};

/// One of those that are wanted, of all ranks and lanes.
inline Place pick(Plan& plan, std::mt19937& random, bool (*wanted)(const Op&)) {
  std::vector<Place> places;
  for (RankProgram& rank : plan.ranks) {
    for (Lane& lane : rank.lanes) {
      for (int i = 0; i < std::ssize(lane.ops); ++i) {
        if (wanted(lane.ops[i])) places.push_back({&lane.ops, i});
      }
    }
  }
  return places.empty() ? Place{} : places[below(random, places.size())];
}
inline bool is_any(const Op&) { return true; }
template <OpKind kind>
bool is_of(const Op& op) {
  return op.kind == kind;
}

inline std::vector<Op>& any_compute_lane(Plan& plan, std::mt19937& random) {
  return plan.ranks[below(random, plan.ranks.size())].compute();
}

/// Swaps two operations, the earlier one given first, that are wanted as a pair; false where none is.
inline bool swap_wanted(std::vector<Op>& ops, std::mt19937& random, bool (*wanted)(const Op&, const Op&)) {
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < std::ssize(ops); ++i) {
    for (int j = i + 1; j < std::ssize(ops); ++j) {
      if (wanted(ops[i], ops[j])) pairs.push_back({i, j});
    }
  }
  if (pairs.empty()) return false;
  const auto [i, j] = pairs[below(random, pairs.size())];
  std::swap(ops[i], ops[j]);
  return true;
}

}  // namespace parabench::plan
