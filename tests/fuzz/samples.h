// Reads samples as training does.
#pragma once

#include <vector>

#include "datasets/source.h"
#include "tests/fuzz/target.h"

namespace parabench::fuzz {

/// The first sample and the last, label and values; a sample that cannot be read may be a CorruptSample.
inline void read_samples(const datasets::SampleSource& source) {
  std::vector<float> values(static_cast<std::size_t>(source.shape().elements()));
  std::vector<std::int64_t> labels(static_cast<std::size_t>(source.label_shape().elements()));
  for (const std::int64_t index : {std::int64_t{0}, source.size() - 1}) {
    try {
      source.read_labels(index, labels);
      source.read(index, 0, std::span<float>(values));
    } catch (const datasets::CorruptSample&) {
    }
  }
}

}  // namespace parabench::fuzz
