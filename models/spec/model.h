// A model as a list of layers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/case.h"
#include "base/tensor_spec.h"
#include "models/spec/layer.h"

namespace parabench::models {

/// A parameter of a model.
struct ParameterPlace {
  int layer = 0;
  int parameter = 0;  ///< index into parameters(layer)
  bool operator==(const ParameterPlace&) const = default;
};

/// Two parameters of different layers that are one tensor (weight tying, Press and Wolf 2017): they start equal and
/// stay so, and the tensor's gradient is the sum of both. The original lies in the earlier layer and gives name and
/// first values.
struct Tie {
  ParameterPlace original, copy;
  bool operator==(const Tie&) const = default;
};

struct ModelSpec {
  std::string name;
  TensorSpec input;
  int classes = 0;
  std::vector<LayerSpec> layers;
  std::optional<Tie> tie = {};
};

/// Inputs of every layer and, last, the model's output: layers.size() + 1 entries.
std::vector<TensorSpec> boundaries(const ModelSpec& model);
/// A tied tensor counts once.
std::int64_t parameter_count(const ModelSpec& model);
/// The tensor that two layers share. Precondition: the model ties one.
ParameterSpec tied_tensor(const ModelSpec& model);
/// Whose name and first values a parameter has: the original's where it is the copy of a tied tensor, else its own.
ParameterPlace origin(const ModelSpec& model, const ParameterPlace& place);
/// The first parameter of a name; std::logic_error where there is none.
ParameterPlace find_parameter(const std::vector<LayerSpec>& layers, std::string_view name);
/// Whether some layer mixes samples. If none does, loss and gradients of a batch are the sums of its parts', weighted
/// by their samples.
bool mixes_samples(const ModelSpec& model);

/// FLOPs of one sample, counted as in LayerCost: forward + backward of a training step (the gradient of the images is
/// not computed).
Flops training_flops(const ModelSpec& model);

/// The model for samples of `input` in `classes` classes, a row of models/spec/nets/nets.h. `small_stem`: the form for
/// small images, as CIFAR-10 and MNIST nets have (pytorch-cifar), else torchvision's. Throws usage_error naming the
/// nearest model, the unknown or impossible bracket parameter, or what does not fit the samples.
ModelSpec make_model(const NamedChoice& model, const TensorSpec& input, int classes, bool small_stem);

}  // namespace parabench::models
