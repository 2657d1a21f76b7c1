// What can go wrong with a plan, and what may look like it.
#pragma once

#include <random>
#include <span>

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// A random change of one kind.
struct Mutation {
  const char* name;
  /// Changes the plan; false where it offers no place for it.
  bool (*mutate)(Plan& plan, std::mt19937& random);
};

/// They leave nothing that could be carried out as the strategy means it.
std::span<const Mutation> harmful_mutations();
/// They may make another good schedule of the same work.
std::span<const Mutation> doubtful_mutations();

}  // namespace parabench::plan
