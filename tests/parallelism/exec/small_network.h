// A small network and its cases, quick enough to train in fp64 in every test.
#pragma once

#include <memory>
#include <string>

#include "base/case_id.h"
#include "datasets/source.h"
#include "models/spec/model.h"
#include "parallelism/plan/strategies/strategies.h"

namespace parabench {

/// A stem, residual blocks (one with a strided shortcut) and a head, 8 x 8 images in 4 classes. At least 4 layers.
inline ModelSpec small_network(int layers = 6) {
  const auto block = [](std::string name, int in, int out, int stride) {
    LayerSpec layer = chain(name, {{name + ".conv1", Conv2d{in, out, 3, stride, 1}},
                                   {name + ".bn1", BatchNorm{out}},
                                   {name + ".relu", Relu{}},
                                   {name + ".conv2", Conv2d{out, out, 3, 1, 1}},
                                   {name + ".bn2", BatchNorm{out}}});
    const int y = static_cast<int>(layer.nodes.size()) - 1;
    int x = layer_input;
    if (stride != 1 || in != out)
      x = append(layer,
                 {{name + ".downsample.0", Conv2d{in, out, 1, stride, 0}}, {name + ".downsample.1", BatchNorm{out}}},
                 x);
    append(layer, {{name + ".relu2", Relu{}}}, append(layer, {name + ".add", Add{}}, {y, x}));
    return layer;
  };
  ModelSpec model;
  model.name = "small";
  model.input = {3, 8, 8};
  model.classes = 4;
  const LayerSpec stem = chain("stem", {{"conv1", Conv2d{3, 8, 3, 1, 1}}, {"bn1", BatchNorm{8}}, {"relu", Relu{}}});
  const LayerSpec head = chain("head", {{"avgpool", GlobalAveragePool{}}, {"fc", Linear{16, 4}}});
  model.layers = {stem, block("a", 8, 8, 1), block("b", 8, 16, 2)};
  for (char name = 'c'; static_cast<int>(model.layers.size()) + 1 < layers; ++name) {
    model.layers.push_back(block(std::string(1, name), 16, 16, 1));
  }
  model.layers.push_back(head);
  return model;
}

inline std::shared_ptr<const SampleSource> small_source() {
  DatasetSpec data;
  data.name = "small";
  data.sample = {3, 8, 8};
  data.classes = 4;
  data.train_size = 100;
  return open_source(data, {});
}

/// The plan of "strategy/np:N/batch:B[/key:value]" on the small network, all layers taken as equally long.
inline Plan small_plan(const std::string& rest, int steps = 6, const ModelSpec& model = small_network()) {
  const std::vector<double> equal_seconds(model.layers.size(), 1.0);
  return make_plan(parse_case("resnet18/imagenet-synthetic/" + rest), model, equal_seconds, steps);
}

}  // namespace parabench
