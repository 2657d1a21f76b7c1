// A trainable tensor or a buffer as data.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace parabench::models {

/// The distribution of a tensor's first values.
struct Initial {
  enum Kind { constant, normal, uniform } kind = constant;
  double scale = 0;  ///< the value; the standard deviation around 0; the bound of both signs
  bool operator==(const Initial&) const = default;
};

/// A parameter or buffer of a layer, named and shaped as in torch's modules.
struct ParameterSpec {
  std::string name;                 ///< "layer1.0.conv1.weight"
  std::vector<std::int64_t> shape;  ///< torch's order
  Initial initial;
  std::int64_t elements() const {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  }
  bool operator==(const ParameterSpec&) const = default;
};

}  // namespace parabench::models
