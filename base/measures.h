// The figures that predictions and measurements share, so that both are compared name by name.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/enum_text.h"

namespace parabench {

/// Where a rank's step goes, in seconds per step. Waiting before the awaited work has ended elsewhere is bubble;
/// waiting after that is exposed communication. `other` is the executor's own overhead, measured between operations.
struct Breakdown {
  double forward = 0, backward = 0, recompute = 0, update = 0;
  double communication_exposed = 0, bubble = 0, data_wait = 0, other = 0;
  bool operator==(const Breakdown&) const = default;
};

inline constexpr std::array<std::pair<std::string_view, double Breakdown::*>, 8> breakdown_fields{
    {{"forward", &Breakdown::forward},
     {"backward", &Breakdown::backward},
     {"recompute", &Breakdown::recompute},
     {"update", &Breakdown::update},
     {"communication_exposed", &Breakdown::communication_exposed},
     {"bubble", &Breakdown::bubble},
     {"data_wait", &Breakdown::data_wait},
     {"other", &Breakdown::other}}};

/// Part by part. Precondition: at least one.
constexpr Breakdown mean(std::span<const Breakdown> breakdowns) {
  Breakdown mean;
  for (const auto& [name, part] : breakdown_fields) {
    for (const Breakdown& one : breakdowns) mean.*part += one.*part;
    mean.*part /= static_cast<double>(breakdowns.size());
  }
  return mean;
}

enum class MemoryCategory {
  parameters,  ///< the latest weights
  gradients,
  optimizer,        ///< what it keeps from one update to the next
  weight_versions,  ///< older weights that live micro-batches still need
  activations,      ///< allocated in a forward and kept
  communication,    ///< buffers of messages, and sums of norms
  workspace,        ///< temporaries of the backward pass, convolution scratch
};
constexpr std::array<std::string_view, 7> names_of(MemoryCategory) {
  return {"parameters", "gradients", "optimizer", "weight_versions", "activations", "communication", "workspace"};
}

/// Bytes of one rank by category at the instant at which their total was highest.
struct MemoryUsage {
  std::array<std::int64_t, enum_names<MemoryCategory>.size()> category{};
  std::int64_t resident = 0;  ///< peak resident set of the process; 0: not known
  std::int64_t reserved = 0;  ///< most that the caching allocator held of the GPU's memory; 0 on the processor
  /// On a GPU reserved and what lies outside: context, libraries, communicator's buffers. Measured: of the whole GPU,
  /// with all ranks and processes that share it; predicted: what this rank needs.
  std::int64_t device_used = 0;
  std::int64_t& operator[](MemoryCategory c) { return category[static_cast<int>(c)]; }
  std::int64_t operator[](MemoryCategory c) const { return category[static_cast<int>(c)]; }
  std::int64_t total_counted() const {
    std::int64_t sum = 0;
    for (auto b : category) sum += b;
    return sum;
  }
  bool operator==(const MemoryUsage&) const = default;
};

}  // namespace parabench
