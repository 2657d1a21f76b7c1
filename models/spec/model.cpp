#include "models/spec/model.h"

#include <algorithm>

#include "base/case_text.h"
#include "base/choice.h"
#include "base/error.h"
#include "models/spec/nets/mlp.h"
#include "models/spec/nets/resnet.h"

namespace parabench {
namespace {

ModelSpec make_mlp(const NamedChoice& model, const TensorSpec& input, int classes) {
  const std::vector<ChoiceParameter> defaults{{"layers", 12, 2, 10'000}, {"hidden", 512, 1, 100'000}};
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

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ResNetVariant& variant : resnet_variants()) names.emplace_back(variant.name);
  names.emplace_back("mlp");
  return names;
}

ModelSpec make_model(const NamedChoice& model, const TensorSpec& input, int classes, bool small_stem) {
  for (const ResNetVariant& variant : resnet_variants()) {
    if (variant.name != model.name) continue;
    read_parameters(model, {});
    return {model.name, input, classes, resnet_layers(variant, static_cast<int>(input[0]), classes, small_stem)};
  }
  if (model.name == "mlp") return make_mlp(model, input, classes);
  throw usage_error("model", model.name, "a known model", nearest_hint(model.name, model_names()));
}

}  // namespace parabench
