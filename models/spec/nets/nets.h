// The networks that a case can name.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/choice.h"
#include "base/enum_text.h"
#include "base/tensor_spec.h"
#include "models/spec/model.h"

namespace parabench::models {

/// What a network is trained on.
enum class Samples { images, masks, tokens };
constexpr std::array<std::string_view, 3> names_of(Samples) {
  return {"images with a class each", "images with a class for each pixel", "rows of token ids"};
}

/// What a network is made for.
struct NetRequest {
  TensorSpec input;
  int classes = 0;
  bool small = false;       ///< the form for small images, as CIFAR-10 and MNIST nets have
  std::vector<int> values;  ///< of the net's parameters, in their order
};

/// A row of the table: name, what it is and where it comes from, its samples, parameters with defaults and ranges, what
/// makes its layers (throws usage_error where the request does not fit), and which parameters of these are one tensor,
/// where some are.
struct Net {
  std::string name;
  std::string summary;
  Samples samples;
  std::vector<ChoiceParameter> parameters;
  std::function<std::vector<LayerSpec>(const NetRequest&)> layers;
  std::function<std::optional<Tie>(const NetRequest&, const std::vector<LayerSpec>&)> tie = nullptr;
};

/// In catalogue order.
const std::vector<Net>& nets();

/// What a model's name and brackets choose.
struct ChosenNet {
  const Net& net;
  std::vector<int> values;  ///< of its parameters, in their order
  NamedChoice canonical;    ///< parameters in the net's order, defaults left out
};
/// Throws usage_error naming the nearest model, or the unknown or impossible parameter.
ChosenNet choose_net(const NamedChoice& model);

}  // namespace parabench::models
