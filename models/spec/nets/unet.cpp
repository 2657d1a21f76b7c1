#include "models/spec/nets/unet.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace parabench::models {
namespace {

class UnetMaker {
 public:
  UnetMaker(const UnetSize& size, const TensorSpec& input) : size_(size), map_(input) {}

  void encoder(int index) {
    const std::string name = fmt::format("encoder.{}", index);
    cell(name, LayerSpec{}, layer_input, size_.channels << index, size_.channels << index);
    LayerSpec& last = layers_.back();
    const int made = static_cast<int>(last.nodes.size()) - 1;
    last.makes.push_back({fmt::format("skip.{}", index), made});
    skips_.push_back(map_);
    append(last, {{name + ".pool", MaxPool{2, 2, 0}}}, made);
    map_ = {map_[0], map_[1] / 2, map_[2] / 2};
  }

  void bottleneck() {
    const int channels = size_.channels << (size_.depth - 1);
    cell("bottleneck", LayerSpec{}, layer_input, 2 * channels, channels);
  }

  void decoder(int index) {
    const std::string name = fmt::format("decoder.{}", index);
    const TensorSpec skip = skips_[index];
    LayerSpec first{.takes = {{fmt::format("skip.{}", index), skip}}};
    int up = append(first, {{name + ".upsample", Upsample{2}}}, layer_input);
    const int bottom = static_cast<int>(skip[1] - 2 * map_[1]), right = static_cast<int>(skip[2] - 2 * map_[2]);
    if (bottom != 0 || right != 0) up = append(first, {{name + ".pad", Pad{0, 0, bottom, right}}}, up);
    const int both = append(first, {name + ".concat", Concat{}}, {up, taken_value(0)});
    map_ = {map_[0] + skip[0], skip[1], skip[2]};
    const int channels = (size_.channels << index) / 2;
    cell(name, std::move(first), both, channels, channels);
  }

  std::vector<LayerSpec> finish(int classes) {
    layers_.push_back(chain("head", {{"head", Conv2d{static_cast<int>(map_[0]), classes}}}));
    return std::move(layers_);
  }

 private:
  /// Layers of a convolution each, the first after what `layer` has already, up to `from`.
  void cell(const std::string& name, LayerSpec layer, int from, int hidden, int out) {
    for (int index = 0; index < size_.convolutions; ++index) {
      const int channels = index + 1 == size_.convolutions ? out : hidden;
      layer.name = fmt::format("{}.{}", name, index);
      append(layer,
             {{layer.name + ".conv", Conv2d{static_cast<int>(map_[0]), channels, 3, 1, 1}},
              {layer.name + ".dropout", Dropout{0.1, true}},
              {layer.name + ".norm", GroupNorm{channels, channels, false}},
              {layer.name + ".relu", LeakyRelu{}}},
             from);
      layers_.push_back(std::exchange(layer, LayerSpec{}));
      from = layer_input;
      map_ = map_.with(0, channels);
    }
  }

  UnetSize size_;
  TensorSpec map_;  ///< after the layers so far
  std::vector<TensorSpec> skips_;
  std::vector<LayerSpec> layers_;
};

}  // namespace

std::vector<LayerSpec> unet_layers(const UnetSize& size, const TensorSpec& input, int classes) {
  UnetMaker maker(size, input);
  for (int index = 0; index < size.depth; ++index) maker.encoder(index);
  maker.bottleneck();
  for (int index = size.depth; index-- > 0;) maker.decoder(index);
  return maker.finish(classes);
}

}  // namespace parabench::models
