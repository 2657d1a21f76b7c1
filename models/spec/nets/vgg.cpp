#include "models/spec/nets/vgg.h"

#include <fmt/format.h>

#include <algorithm>

namespace parabench::models {
namespace {

constexpr double classifier_deviation = 0.01;
constexpr int pooled_side = 7;

LayerSpec hidden_layer(int index, std::vector<Step> before, int in, int hidden) {
  before.push_back({fmt::format("classifier.{}", index), Linear{in, hidden, true, classifier_deviation}});
  before.push_back({fmt::format("classifier.{}", index + 1), Relu{}});
  before.push_back({fmt::format("classifier.{}", index + 2), Dropout{0.5}});
  return chain(fmt::format("classifier.{}", index), std::move(before));
}

}  // namespace

std::span<const VggVariant> vgg_variants() {
  static constexpr VggVariant variants[] = {
      {"vgg11", {1, 1, 2, 2, 2}, false},   {"vgg13", {2, 2, 2, 2, 2}, false},   {"vgg16", {2, 2, 3, 3, 3}, false},
      {"vgg19", {2, 2, 4, 4, 4}, false},   {"vgg11-bn", {1, 1, 2, 2, 2}, true}, {"vgg13-bn", {2, 2, 2, 2, 2}, true},
      {"vgg16-bn", {2, 2, 3, 3, 3}, true}, {"vgg19-bn", {2, 2, 4, 4, 4}, true},
  };
  return variants;
}

std::vector<LayerSpec> vgg_layers(const VggVariant& variant, int channels, const TensorSpec& input, int classes,
                                  bool small) {
  std::vector<LayerSpec> layers;
  TensorSpec map = input;
  int module = 0;  // its number in torchvision's sequence of features
  const auto next = [&] { return fmt::format("features.{}", module++); };
  for (int group = 0; group < 5; ++group) {
    const int width = channels * std::min(8, 1 << group);
    for (int index = 0; index < variant.convolutions[group]; ++index) {
      const Conv2d conv{.in = static_cast<int>(map[0]), .out = width, .kernel = 3, .padding = 1, .bias = true};
      std::vector<Step> steps{{next(), conv}};
      if (variant.batch_norm) steps.push_back({next(), BatchNorm{width}});
      steps.push_back({next(), Relu{}});
      const bool pooled = index + 1 == variant.convolutions[group] && !(small && std::min(map[1], map[2]) < 2);
      if (pooled) steps.push_back({next(), MaxPool{2, 2, 0}});
      std::string name = steps.front().name;
      layers.push_back(chain(std::move(name), std::move(steps)));
      map = output(layers.back(), map);
    }
  }
  const int features = static_cast<int>(map[0]), hidden = 64 * channels;
  if (small) {
    layers.push_back(
        chain("classifier", {{"avgpool", GlobalAveragePool{}}, {"classifier", Linear{features, classes}}}));
    return layers;
  }
  layers.push_back(hidden_layer(0, {{"avgpool", AdaptiveAveragePool{pooled_side}}, {"flatten", Flatten{}}},
                                features * pooled_side * pooled_side, hidden));
  layers.push_back(hidden_layer(3, {}, hidden, hidden));
  layers.push_back(chain("classifier.6", {{"classifier.6", Linear{hidden, classes, true, classifier_deviation}}}));
  return layers;
}

}  // namespace parabench::models
