#include "models/spec/nets/mlp.h"

#include <fmt/format.h>

#include <string>

namespace parabench::models {

std::vector<LayerSpec> mlp_layers(int layers, int hidden, const TensorSpec& input, int classes) {
  std::vector<LayerSpec> all;
  for (int index = 0; index + 1 < layers; ++index) {
    const std::string name = fmt::format("layer{}", index);
    const int in = index == 0 ? static_cast<int>(input.elements()) : hidden;
    LayerSpec layer{.name = name};
    const int x = index == 0 ? append(layer, {{name + ".flatten", Flatten{}}}, layer_input) : layer_input;
    int y = append(layer, {{name + ".fc", Linear{in, hidden}}, {name + ".norm", LayerNorm{hidden}}}, x);
    if (index > 0) y = append(layer, {name + ".add", Add{}}, {y, x});
    append(layer, {{name + ".relu", Relu{}}}, y);
    all.push_back(std::move(layer));
  }
  all.push_back(chain("head", {{"avgpool", GlobalAveragePool{}}, {"fc", Linear{hidden, classes}}}));
  return all;
}

}  // namespace parabench::models
