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

/// The small network with tensors that skip layers: the output of the stem to three later ones, the input of a block to
/// the last, added there. At least 6 layers.
inline ModelSpec small_skipping_network(int layers = 6) {
  ModelSpec model = small_network(layers);
  const auto lead = [&](int from, int value, int to, const std::string& port, const TensorSpec& tensor, Step step) {
    model.layers[from].makes.push_back({port, value});
    LayerSpec& taker = model.layers[to];
    LayerSpec with{.name = taker.name, .takes = taker.takes, .makes = taker.makes};
    with.takes.push_back({port, tensor});
    int skipped = taken_value(static_cast<int>(with.takes.size()) - 1);
    if (!step.name.empty()) skipped = append(with, std::move(step), {skipped});
    const int both = append(with, {taker.name + "." + port, Add{}}, {layer_input, skipped});
    const int moved = static_cast<int>(with.nodes.size());
    for (Node node : taker.nodes) {
      for (int& value_read : node.inputs)
        value_read = value_read == layer_input ? both : value_read < 0 ? value_read : value_read + moved;
      with.nodes.push_back(std::move(node));
    }
    for (MadePort& made : with.makes) made.value += made.value >= 0 ? moved : 0;
    taker = std::move(with);
  };
  const int last = static_cast<int>(model.layers.size()) - 1;
  const int stem = static_cast<int>(model.layers[0].nodes.size()) - 1;
  lead(0, stem, 2, "a", {8, 8, 8}, {});
  lead(0, stem, 3, "b", {8, 8, 8}, {"b.conv", Conv2d{8, 16, 3, 2, 1}});
  lead(0, stem, last - 1, "c", {8, 8, 8}, {"c.conv", Conv2d{8, 16, 3, 2, 1}});
  lead(3, layer_input, last, "d", {16, 4, 4}, {});
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
