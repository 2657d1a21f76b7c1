// A model as a list of layers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/case.h"
#include "base/choice.h"
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

/// FLOPs of one sample, counted as in LayerCost: forward alone, and forward + backward of a training step (the gradient
/// of the images is not computed).
Flops forward_flops(const ModelSpec& model);
Flops training_flops(const ModelSpec& model);

/// A model that `make_model` knows, as lists show it.
struct ModelRow {
  std::string name, summary;
  std::vector<ChoiceParameter> parameters;  ///< in brackets, with their defaults
};
std::vector<ModelRow> model_rows();

/// The model for samples of `input` in `classes` classes. ResNet-18/34/50/101/152 (He et al. 2015; torchvision's v1.5
/// with the stride in the 3x3 convolution). `small_stem`: 3x3 stem without pooling, as CIFAR-10 and MNIST nets
/// have (pytorch-cifar); else the 7x7 ImageNet stem. `mlp[layers=12,hidden=512]`: a multilayer perceptron (mlp.h).
/// Throws usage_error naming the nearest model or the unknown bracket parameter.
ModelSpec make_model(const NamedChoice& model, const TensorSpec& input, int classes, bool small_stem);

}  // namespace parabench
