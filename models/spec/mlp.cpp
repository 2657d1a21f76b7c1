#include "models/spec/mlp.h"

#include <fmt/format.h>

#include <string>

namespace parabench {

std::vector<LayerSpec> mlp_layers(int layers, int hidden, Shape input, int classes) {
  std::vector<LayerSpec> all;
  for (int index = 0; index + 1 < layers; ++index) {
    const std::string name = fmt::format("layer{}", index);
    const int in = index == 0 ? static_cast<int>(input.elements()) : hidden;
    LayerSpec layer{.name = name,
                    .body = {{name + ".fc", Linear{in, hidden}}, {name + ".norm", LayerNorm{hidden}}},
                    .residual = index > 0};
    if (index == 0) layer.body.push_back({name + ".relu", Relu{}});
    all.push_back(std::move(layer));
  }
  // The pooling of 1 x 1 maps flattens them.
  all.push_back({"head", {{"avgpool", GlobalAveragePool{}}, {"fc", Linear{hidden, classes}}}});
  return all;
}

}  // namespace parabench
