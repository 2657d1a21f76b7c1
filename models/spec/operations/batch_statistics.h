// What a batch norm needs to know of a micro-batch, as sums that several ranks can add up.
#pragma once

#include <span>
#include <string>

#include "base/tensor_spec.h"
#include "models/spec/tally.h"

namespace parabench::models {

/// The tensor of such statistics: for each channel the sum of its values, for each the sum of their squares, and how
/// many values a channel has.
constexpr TensorSpec statistics_tensor(std::int64_t channels) { return {{2 * channels + 1}, ElementKind::sums}; }

/// The statistics of a map.
struct BatchStatistics {
  int channels = 0;

  TensorSpec output(const std::string& name, std::span<const TensorSpec> in) const;
  void count(Tally& tally) const;
  std::string text() const;
  bool operator==(const BatchStatistics&) const = default;
};

}  // namespace parabench::models
