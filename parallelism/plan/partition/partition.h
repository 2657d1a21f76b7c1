// Cutting a chain of layers into consecutive stages of one device each. Every stage holds at least one layer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace parabench::plan {

/// Layers per stage so that the largest stage sum is minimal: exact, by bisecting the bound on that sum in O(n) a
/// question. Among optima the first in lexicographic order of stage sizes.
/// Precondition: 1 <= stages <= costs.size(), costs finite and >= 0.
std::vector<int> min_max_partition(std::span<const double> costs, int stages);

/// What a layer keeps on its device.
struct LayerBytes {
  std::int64_t fixed = 0;      ///< once: weights, gradients, optimizer state
  std::int64_t in_flight = 0;  ///< per micro-batch in flight: saved activations, stashed weights
  std::int64_t entry = 0;    ///< its input, where it is the first of a stage: per micro-batch in flight there or before
  std::int64_t passing = 0;  ///< once, while a pass of the layer runs: temporaries
};

/// The same where widths[s] devices share the cost of stage s: its sum counts divided by its width. Exact,
/// O(n * stages) a question; the number of stages is that of the widths. Precondition: as above, widths >= 1.
std::vector<int> shared_partition(std::span<const double> costs, std::span<const int> widths);

/// A limit for every device of a pipeline.
struct MemoryLimit {
  std::span<const LayerBytes> layers;
  std::span<const int> in_flight;  ///< peak micro-batches in flight, per stage (they depend on the schedule)
  std::int64_t bytes = 0;          ///< of one device
};

/// The same under a limit: each device of stage s holds the sum over its layers of fixed + in_flight[s] * in_flight
/// bytes, with its first layer's entry and the largest passing. The number of stages is that of `limit.in_flight`;
/// `widths` empty: one device each. Throws usage_error that names the largest stage of the leanest cut, its layers and
/// its bytes, where no cut keeps the limit. Precondition: as above, all counts and bytes >= 0.
std::vector<int> memory_limited_partition(std::span<const double> costs, std::span<const int> widths,
                                          const MemoryLimit& limit);
inline std::vector<int> memory_limited_partition(std::span<const double> costs, const MemoryLimit& limit) {
  return memory_limited_partition(costs, {}, limit);
}

/// Equal numbers of layers, larger stages first.
std::vector<int> uniform_partition(int layers, int stages);

}  // namespace parabench::plan
