// Tensors that skip layers of a model.
#pragma once

#include <string>
#include <vector>

#include "base/tensor_spec.h"
#include "models/spec/model.h"

namespace parabench::models {

struct Skip {
  std::string port;
  int from_layer = 0, to_layer = 0;
  TensorSpec tensor;
  bool operator==(const Skip&) const = default;
};

/// The model's skips in the order in which they are made. Throws std::logic_error where a port is made or taken twice,
/// is not taken, is taken before it is made, or by a layer that declares another tensor.
std::vector<Skip> skips(const ModelSpec& model);

/// For each of skips(model) the first that leads the same value: what a layer makes under several names is one tensor.
std::vector<int> tensors_of(const ModelSpec& model, const std::vector<Skip>& skips);

}  // namespace parabench::models
