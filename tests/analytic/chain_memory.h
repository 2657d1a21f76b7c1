// Predicted memory of the ranks that train a chain of fixtures.h.
#pragma once

#include "analytic/memory/peak_memory.h"
#include "analytic/simulate/simulate.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {

inline constexpr std::int64_t chain_layer_bytes = 64;  ///< of a chain's layer: 16 fp32 parameters
inline constexpr std::int64_t sample_bytes = 64;       ///< of a chain's map: 4x2x2
inline constexpr std::int64_t label_bytes = 32;        ///< of a sample of it: one label per pixel of its 2x2 outputs

inline MemoryUsage peak(const plan::Plan& plan, int layers, const HandCosts& costs, int rank) {
  return peak_memory(plan, chain(layers), costs, simulate(plan, costs), Rank(rank));
}

/// So much more than all else that what is in flight makes the peak.
inline constexpr std::int64_t saved_in_flight = 100'000;

inline std::int64_t peak_activations(const plan::Plan& plan, int rank) {
  HandCosts costs(KindSeconds{});
  costs.saved = saved_in_flight;
  return peak(plan, static_cast<int>(plan.segments.size()), costs, rank)[MemoryCategory::activations];
}

}  // namespace parabench::analytic
