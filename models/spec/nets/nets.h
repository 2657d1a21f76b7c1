// The networks that a case can name.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/choice.h"
#include "base/tensor_spec.h"
#include "models/spec/model.h"

namespace parabench::models {

/// What a network is made for.
struct NetRequest {
  TensorSpec input;
  int classes = 0;
  bool small = false;       ///< the form for small images, as CIFAR-10 and MNIST nets have
  std::vector<int> values;  ///< of the net's parameters, in their order
};

/// A row of the table: name, what it is and where it comes from, parameters with defaults and ranges, what makes its
/// layers (throws usage_error where the request does not fit), and which parameters of these are one tensor, where some
/// are.
struct Net {
  std::string name;
  std::string summary;
  std::vector<ChoiceParameter> parameters;
  std::function<std::vector<LayerSpec>(const NetRequest&)> layers;
  std::function<std::optional<Tie>(const NetRequest&, const std::vector<LayerSpec>&)> tie = nullptr;
};

/// In catalogue order.
const std::vector<Net>& nets();

}  // namespace parabench::models
