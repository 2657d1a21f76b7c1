#include "models/spec/model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/spec/resnet.h"

namespace parabench {

std::vector<Shape> shapes(const ModelSpec& model) {
  std::vector<Shape> all{model.input};
  for (const LayerSpec& layer : model.layers) all.push_back(output_shape(layer, all.back()));
  return all;
}

std::int64_t parameter_count(const ModelSpec& model) {
  std::int64_t count = 0;
  for (const LayerSpec& layer : model.layers) count += parameter_count(layer);
  return count;
}

Flops forward_flops(const ModelSpec& model) {
  return cost(model.layers, model.input, sizeof(float), true).forward_per_sample;
}

Flops training_flops(const ModelSpec& model) {
  const LayerCost total = cost(model.layers, model.input, sizeof(float), true);
  return total.forward_per_sample + total.backward_per_sample;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ResNetVariant& variant : resnet_variants()) names.emplace_back(variant.name);
  return names;
}

ModelSpec make_model(const NamedChoice& model, Shape input, int classes, bool small_stem) {
  for (const ResNetVariant& variant : resnet_variants()) {
    if (variant.name != model.name) continue;
    if (!model.parameters.empty())
      throw usage_error(fmt::format("model parameter of {}", model.name), model.parameters.front().first,
                        "a model without parameters", "write " + model.name);
    return {model.name, input, classes, resnet_layers(variant, input.channels, classes, small_stem)};
  }
  throw usage_error("model", model.name, "a known model", nearest_hint(model.name, model_names()));
}

}  // namespace parabench
