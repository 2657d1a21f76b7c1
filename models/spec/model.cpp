#include "models/spec/model.h"

#include <algorithm>
#include <stdexcept>

#include "base/case_text.h"
#include "base/error.h"
#include "models/spec/cost.h"
#include "models/spec/nets/nets.h"

namespace parabench::models {

std::vector<TensorSpec> boundaries(const ModelSpec& model) {
  std::vector<TensorSpec> all{model.input};
  for (const LayerSpec& layer : model.layers) all.push_back(output(layer, all.back()));
  return all;
}

std::int64_t parameter_count(const ModelSpec& model) {
  std::int64_t count = 0;
  for (const LayerSpec& layer : model.layers) count += parameter_count(layer);
  return model.tie ? count - tied_tensor(model).elements() : count;
}

ParameterSpec tied_tensor(const ModelSpec& model) {
  const auto& [layer, parameter] = model.tie->original;
  return parameters(model.layers[layer])[parameter];
}

ParameterPlace origin(const ModelSpec& model, const ParameterPlace& place) {
  return model.tie && place == model.tie->copy ? model.tie->original : place;
}

ParameterPlace find_parameter(const std::vector<LayerSpec>& layers, std::string_view name) {
  for (int layer = 0; layer < std::ssize(layers); ++layer) {
    const std::vector<ParameterSpec> tensors = parameters(layers[layer]);
    const auto found = std::ranges::find(tensors, name, &ParameterSpec::name);
    if (found != tensors.end()) return {layer, static_cast<int>(found - tensors.begin())};
  }
  throw std::logic_error("no parameter " + std::string(name));
}

bool mixes_samples(const ModelSpec& model) {
  return std::ranges::any_of(model.layers, [](const LayerSpec& layer) { return mixes_samples(layer); });
}

Flops training_flops(const ModelSpec& model) {
  const LayerCost total = cost(model.layers, model.input, sizeof(float), true);
  return total.forward_per_sample + total.backward_per_sample;
}

ModelSpec make_model(const NamedChoice& model, const TensorSpec& input, int classes, bool small_stem) {
  const ChosenNet chosen = choose_net(model);
  const NetRequest request{input, classes, small_stem, chosen.values};
  ModelSpec made{to_text(chosen.canonical), input, classes, chosen.net.layers(request)};
  if (chosen.net.tie) made.tie = chosen.net.tie(request, made.layers);
  return made;
}

}  // namespace parabench::models
