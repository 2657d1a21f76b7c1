// What every communicator must do, written once and run on each backend.
#pragma once

#include <span>
#include <vector>

#include "parallelism/comm/communicator.h"

namespace parabench::comm {

/// One expectation, run by every rank of a world at the same time; failures are GoogleTest's. The world has the groups
/// of conformance_groups(). A case that breaks it on purpose leaves it unusable.
struct ConformanceCase {
  const char* name;
  void (*run)(Communicator& comm);
};

/// Bytes that a rank's arena must hold for any of the cases.
inline constexpr std::int64_t conformance_arena_bytes = 48 << 20;

/// Disjoint, overlapping and coinciding groups of so many ranks.
std::vector<std::vector<Rank>> conformance_groups(int ranks);

std::span<const ConformanceCase> conformance_cases();
/// Those that go over all kinds of collectives, in all groups, and over sums in all places.
std::span<const ConformanceCase> collective_cases();

}  // namespace parabench::comm
