// A model as a list of layers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/case.h"
#include "base/tensor_spec.h"
#include "models/spec/layer.h"

namespace parabench {

struct ModelSpec {
  std::string name;
  TensorSpec input;
  int classes = 0;
  std::vector<LayerSpec> layers;
};

/// Inputs of every layer and, last, the model's output: layers.size() + 1 entries.
std::vector<TensorSpec> boundaries(const ModelSpec& model);
std::int64_t parameter_count(const ModelSpec& model);
/// Whether some layer does (layer.h): if none, loss and gradients of a batch are those of its parts, weighted by their
/// samples.
bool mixes_samples(const ModelSpec& model);

/// FLOPs of one sample, counted as in LayerCost: forward + backward of a training step (the gradient of the images is
/// not computed).
Flops training_flops(const ModelSpec& model);

/// The model for samples of `input` in `classes` classes, a row of models/spec/nets/nets.h. `small_stem`: the form for
/// small images, as CIFAR-10 and MNIST nets have (pytorch-cifar), else torchvision's. Throws usage_error naming the
/// nearest model, the unknown or impossible bracket parameter, or what does not fit the samples.
ModelSpec make_model(const NamedChoice& model, const TensorSpec& input, int classes, bool small_stem);

}  // namespace parabench
