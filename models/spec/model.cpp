#include "models/spec/model.h"

#include <algorithm>

#include "base/case_text.h"
#include "base/choice.h"
#include "base/error.h"
#include "models/spec/nets/mlp.h"
#include "models/spec/nets/resnet.h"

namespace parabench {
namespace {

std::vector<ChoiceParameter> mlp_parameters() { return {{"layers", 12, 2, 10'000}, {"hidden", 512, 1, 100'000}}; }

ModelSpec make_mlp(const NamedChoice& model, const TensorSpec& input, int classes) {
  const std::vector<ChoiceParameter> defaults = mlp_parameters();
  std::vector<ChoiceParameter> parameters = defaults;
  read_parameters(model, parameters);
  NamedChoice canonical{model.name, {}};
  for (std::size_t i = 0; i < defaults.size(); ++i)
    if (parameters[i].value != defaults[i].value)
      canonical.parameters.emplace_back(parameters[i].name, std::to_string(parameters[i].value));
  return {to_text(canonical), input, classes, mlp_layers(parameters[0].value, parameters[1].value, input, classes)};
}

}  // namespace

std::vector<TensorSpec> boundaries(const ModelSpec& model) {
  std::vector<TensorSpec> all{model.input};
  for (const LayerSpec& layer : model.layers) all.push_back(output(layer, all.back()));
  return all;
}

std::int64_t parameter_count(const ModelSpec& model) {
  std::int64_t count = 0;
  for (const LayerSpec& layer : model.layers) count += parameter_count(layer);
  return count;
}

bool mixes_samples(const ModelSpec& model) {
  return std::ranges::any_of(model.layers, [](const LayerSpec& layer) { return mixes_samples(layer); });
}

Flops forward_flops(const ModelSpec& model) {
  return cost(model.layers, model.input, sizeof(float), true).forward_per_sample;
}

Flops training_flops(const ModelSpec& model) {
  const LayerCost total = cost(model.layers, model.input, sizeof(float), true);
  return total.forward_per_sample + total.backward_per_sample;
}

std::vector<ModelRow> model_rows() {
  std::vector<ModelRow> rows;
  for (const ResNetVariant& variant : resnet_variants())
    rows.push_back({std::string(variant.name), "residual network for images (He et al. 2015)", {}});
  rows.push_back({"mlp", "multilayer perceptron with residual connections", mlp_parameters()});
  return rows;
}

ModelSpec make_model(const NamedChoice& model, const TensorSpec& input, int classes, bool small_stem) {
  for (const ResNetVariant& variant : resnet_variants()) {
    if (variant.name != model.name) continue;
    read_parameters(model, {});
    return {model.name, input, classes, resnet_layers(variant, static_cast<int>(input[0]), classes, small_stem)};
  }
  if (model.name == "mlp") return make_mlp(model, input, classes);
  std::vector<std::string> names;
  for (const ModelRow& row : model_rows()) names.push_back(row.name);
  throw usage_error("model", model.name, "a known model", nearest_hint(model.name, names));
}

}  // namespace parabench
