#include "models/spec/nets/resnet.h"

#include <fmt/format.h>

namespace parabench::models {
namespace {

LayerSpec stem(int in, int out, bool small) {
  const Conv2d conv = small ? Conv2d{in, out, 3, 1, 1} : Conv2d{in, out, 7, 2, 3};
  std::vector<Step> steps{{"conv1", conv}, {"bn1", BatchNorm{out}}, {"relu", Relu{}}};
  if (!small) steps.push_back({"maxpool", MaxPool{3, 2, 1}});
  return chain("stem", std::move(steps));
}

/// relu(body(x) + shortcut(x)), an empty shortcut being the identity.
LayerSpec residual(const std::string& name, std::vector<Step> body, std::vector<Step> shortcut) {
  LayerSpec layer{.name = name};
  const int y = append(layer, std::move(body), layer_input);
  const int sum = append(layer, {name + ".add", Add{}}, {y, append(layer, std::move(shortcut), layer_input)});
  append(layer, {{fmt::format("{}.relu", name), Relu{}}}, sum);
  return layer;
}

LayerSpec block(const std::string& name, bool bottleneck, int in, int width, int stride) {
  std::vector<Step> body;
  int out = in;
  const auto convolution = [&](int index, int channels, int kernel, int step) {
    if (index > 1) body.push_back({fmt::format("{}.relu{}", name, index - 1), Relu{}});
    body.push_back({fmt::format("{}.conv{}", name, index), Conv2d{out, channels, kernel, step, kernel / 2}});
    body.push_back({fmt::format("{}.bn{}", name, index), BatchNorm{channels}});
    out = channels;
  };
  if (bottleneck) {
    convolution(1, width, 1, 1);
    convolution(2, width, 3, stride);
    convolution(3, 4 * width, 1, 1);
  } else {
    convolution(1, width, 3, stride);
    convolution(2, width, 3, 1);
  }
  std::vector<Step> shortcut;
  if (stride != 1 || in != out)
    shortcut = {{name + ".downsample.0", Conv2d{in, out, 1, stride, 0}}, {name + ".downsample.1", BatchNorm{out}}};
  return residual(name, std::move(body), std::move(shortcut));
}

}  // namespace

std::span<const ResNetVariant> resnet_variants() {
  static constexpr ResNetVariant variants[] = {
      {"resnet18", false, {2, 2, 2, 2}},  {"resnet34", false, {3, 4, 6, 3}},  {"resnet50", true, {3, 4, 6, 3}},
      {"resnet101", true, {3, 4, 23, 3}}, {"resnet152", true, {3, 8, 36, 3}},
  };
  return variants;
}

std::vector<LayerSpec> resnet_layers(const ResNetVariant& variant, int channels, int input_channels, int classes,
                                     bool small_stem) {
  std::vector<LayerSpec> layers{stem(input_channels, channels, small_stem)};
  int in = channels;
  for (int group = 0; group < 4; ++group) {
    const int width = channels << group;
    for (int index = 0; index < variant.blocks[group]; ++index) {
      const int stride = group > 0 && index == 0 ? 2 : 1;
      layers.push_back(block(fmt::format("layer{}.{}", group + 1, index), variant.bottleneck, in, width, stride));
      in = variant.bottleneck ? 4 * width : width;
    }
  }
  layers.push_back(chain("head", {{"avgpool", GlobalAveragePool{}}, {"fc", Linear{in, classes}}}));
  return layers;
}

namespace {

LayerSpec preactivated_block(const std::string& name, int in, int width, int stride) {
  LayerSpec layer{.name = name};
  const int out = 4 * width;
  const int activated = append(layer, {{name + ".bn1", BatchNorm{in}}, {name + ".relu1", Relu{}}}, layer_input);
  const int y = append(layer,
                       {{name + ".conv1", Conv2d{in, width}},
                        {name + ".bn2", BatchNorm{width}},
                        {name + ".relu2", Relu{}},
                        {name + ".conv2", Conv2d{width, width, 3, stride, 1}},
                        {name + ".bn3", BatchNorm{width}},
                        {name + ".relu3", Relu{}},
                        {name + ".conv3", Conv2d{width, out}}},
                       activated);
  int x = layer_input;
  if (in != out) x = append(layer, {{name + ".shortcut", Conv2d{in, out, 1, stride}}}, activated);
  append(layer, {name + ".add", Add{}}, {y, x});
  return layer;
}

}  // namespace

std::vector<LayerSpec> resnet_1001_layers(int channels, int input_channels, int classes) {
  constexpr int blocks = 111;
  int in = channels;
  std::vector<LayerSpec> layers{chain("stem", {{"conv1", Conv2d{input_channels, in, 3, 1, 1}}})};
  for (int group = 0; group < 3; ++group) {
    const int width = channels << group;
    for (int index = 0; index < blocks; ++index) {
      const int stride = group > 0 && index == 0 ? 2 : 1;
      layers.push_back(preactivated_block(fmt::format("layer{}.{}", group + 1, index), in, width, stride));
      in = 4 * width;
    }
  }
  layers.push_back(
      chain("head",
            {{"bn", BatchNorm{in}}, {"relu", Relu{}}, {"avgpool", GlobalAveragePool{}}, {"fc", Linear{in, classes}}}));
  return layers;
}

}  // namespace parabench::models
