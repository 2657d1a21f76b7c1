#include "models/spec/nets/mobilenet.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace parabench::models {
namespace {

struct Group {
  int expansion, channels, blocks, stride;
};
constexpr Group groups[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                            {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
constexpr int usual_stem = 32, usual_head = 1280;

/// torchvision's _make_divisible(channels * stem / 32, 8): to a multiple of 8, never more than a tenth below.
int scaled(int channels, int stem) {
  const double exact = channels * (stem / static_cast<double>(usual_stem));
  const int nearest = std::max(8, static_cast<int>(exact + 4) / 8 * 8);
  return nearest < 0.9 * exact ? nearest + 8 : nearest;
}

Conv2d depthwise(int channels, int stride) { return {channels, channels, 3, stride, 1, channels}; }

void activate(std::vector<Step>& steps, const std::string& name, bool small) {
  steps.push_back({name, small ? Operation(Relu{}) : Operation(Relu6{})});
}

/// torchvision's InvertedResidual.
LayerSpec block(const std::string& name, int in, int out, int stride, int expansion) {
  std::vector<Step> steps;
  int module = 0;
  const auto convolution = [&](const Conv2d& conv) {
    const std::string part = fmt::format("{}.conv.{}", name, module++);
    steps.push_back({part + ".0", conv});
    steps.push_back({part + ".1", BatchNorm{conv.out}});
    activate(steps, part + ".2", false);
  };
  const int wide = in * expansion;
  if (expansion != 1) convolution(Conv2d{in, wide});
  convolution(depthwise(wide, stride));
  steps.push_back({fmt::format("{}.conv.{}", name, module), Conv2d{wide, out}});
  steps.push_back({fmt::format("{}.conv.{}", name, module + 1), BatchNorm{out}});
  LayerSpec layer = chain(name, std::move(steps));
  if (stride == 1 && in == out)
    append(layer, {name + ".add", Add{}}, {static_cast<int>(layer.nodes.size()) - 1, layer_input});
  return layer;
}

/// pytorch-cifar's Block.
LayerSpec small_block(const std::string& name, int in, int out, int stride, int expansion) {
  const int wide = in * expansion;
  LayerSpec layer{.name = name};
  const int y = append(layer,
                       {{name + ".conv1", Conv2d{in, wide}},
                        {name + ".bn1", BatchNorm{wide}},
                        {name + ".relu1", Relu{}},
                        {name + ".conv2", depthwise(wide, stride)},
                        {name + ".bn2", BatchNorm{wide}},
                        {name + ".relu2", Relu{}},
                        {name + ".conv3", Conv2d{wide, out}},
                        {name + ".bn3", BatchNorm{out}}},
                       layer_input);
  if (stride != 1) return layer;
  int x = layer_input;
  if (in != out)
    x = append(layer, {{name + ".shortcut.0", Conv2d{in, out}}, {name + ".shortcut.1", BatchNorm{out}}}, x);
  append(layer, {name + ".add", Add{}}, {y, x});
  return layer;
}

}  // namespace

std::vector<LayerSpec> mobilenet_v2_layers(int channels, int input_channels, int classes, bool small) {
  const int stem_channels = scaled(usual_stem, channels);
  const int head_channels = scaled(usual_head, std::max(channels, usual_stem));
  std::vector<Step> stem{
      {small ? "conv1" : "features.0.0", Conv2d{input_channels, stem_channels, 3, small ? 1 : 2, 1}},
      {small ? "bn1" : "features.0.1", BatchNorm{stem_channels}},
  };
  activate(stem, small ? "relu1" : "features.0.2", small);
  std::vector<LayerSpec> layers{chain("stem", std::move(stem))};
  int in = stem_channels, index = 0;
  for (const Group& group : groups) {
    for (int block_index = 0; block_index < group.blocks; ++block_index, ++index) {
      const bool strided = block_index == 0 && !(small && group.channels == 24);
      const int stride = strided ? group.stride : 1, out = scaled(group.channels, channels);
      layers.push_back(small ? small_block(fmt::format("layers.{}", index), in, out, stride, group.expansion)
                             : block(fmt::format("features.{}", index + 1), in, out, stride, group.expansion));
      in = out;
    }
  }
  std::vector<Step> head{{small ? "conv2" : "features.18.0", Conv2d{in, head_channels}},
                         {small ? "bn2" : "features.18.1", BatchNorm{head_channels}}};
  activate(head, small ? "relu2" : "features.18.2", small);
  head.push_back({"avgpool", GlobalAveragePool{}});
  if (small) {
    head.push_back({"linear", Linear{head_channels, classes}});
  } else {
    head.push_back({"classifier.0", Dropout{0.2}});
    head.push_back({"classifier.1", Linear{head_channels, classes, true, 0.01}});
  }
  layers.push_back(chain("head", std::move(head)));
  return layers;
}

}  // namespace parabench::models
