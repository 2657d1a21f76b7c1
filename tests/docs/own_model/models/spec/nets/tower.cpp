#include "models/spec/nets/tower.h"

#include <fmt/format.h>

#include <string>

namespace parabench::models {

std::vector<LayerSpec> tower_layers(int depth, int channels, const TensorSpec& input, int classes) {
  const auto convolution = [&](int in) { return Conv2d{.in = in, .out = channels, .kernel = 3, .padding = 1}; };
  std::vector<LayerSpec> layers;
  layers.push_back(chain("stem", {{"stem.conv", convolution(static_cast<int>(input[0]))},
                                  {"stem.norm", BatchNorm{channels}},
                                  {"stem.relu", Relu{}}}));
  for (int index = 0; index < depth; ++index) {
    const std::string name = fmt::format("block{}", index);
    LayerSpec block{.name = name};
    int y =
        append(block, {{name + ".conv", convolution(channels)}, {name + ".norm", BatchNorm{channels}}}, layer_input);
    y = append(block, {name + ".add", Add{}}, {y, layer_input});
    append(block, {{name + ".relu", Relu{}}}, y);
    layers.push_back(std::move(block));
  }
  layers.push_back(chain("head", {{"avgpool", GlobalAveragePool{}}, {"fc", Linear{channels, classes}}}));
  return layers;
}

}  // namespace parabench::models
