// What every communicator must do, written once and run on each backend.
#pragma once

#include <span>

#include "parallelism/comm/communicator.h"

namespace parabench {

/// One expectation, run by every rank of a group at the same time; failures are GoogleTest's. A case that
/// `breaks` its group on purpose leaves it unusable.
struct ConformanceCase {
  const char* name;
  void (*run)(Communicator& comm);
};

/// Bytes that a rank's arena must hold for any of the cases.
inline constexpr std::int64_t conformance_arena_bytes = 48 << 20;

std::span<const ConformanceCase> conformance_cases();

}  // namespace parabench
