// The shape of one sample.
#pragma once

#include <cstdint>

namespace parabench {

/// Shape of one sample (no batch dimension): channels x height x width. A feature vector is {n, 1, 1}.
struct Shape {
  int channels = 0, height = 1, width = 1;
  std::int64_t elements() const { return std::int64_t{1} * channels * height * width; }
  bool operator==(const Shape&) const = default;
};

}  // namespace parabench
