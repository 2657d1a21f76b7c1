// What kept the cores of a host from the ranks that a record is of.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "results/record.h"

namespace parabench::results {

/// Where a hypervisor kept more of a host's core time than this while a case ran, its error tells little of the model:
/// ranks that wait for each other all wait for the one that lost its core, while the chains that the prediction is made
/// of lose less.
inline constexpr double disturbing_steal_share = 0.05;
/// The same where a product in the cache took more than so many times as long at one time of a launch as at another
/// (Canary::matrix_product_spread): rounds and steps had cores of different speeds.
inline constexpr double disturbing_core_spread = 1.25;

struct Disturbance {
  std::optional<double> steal_share;  ///< Canary::steal_share
  std::optional<double> core_spread;  ///< Canary::matrix_product_spread
  bool is_known() const { return steal_share || core_spread; }
  /// Whether one of them is above its constant.
  bool is_large() const { return steal_share > disturbing_steal_share || core_spread > disturbing_core_spread; }
};
/// Of a record that was measured, each of the launch that told the most; nullopt where none tells.
Disturbance disturbance_of(const Record& record);

/// "in 2 of 5 cases the cores ran up to 2.31 times as slow at one time as at another: ...", of the cases of which
/// something is known; "" where none was disturbed.
std::string disturbance_text(std::span<const Record> records);

}  // namespace parabench::results
