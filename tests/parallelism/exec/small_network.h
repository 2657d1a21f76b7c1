// A small network and its cases, quick enough to train in fp64 in every test.
#pragma once

#include <memory>
#include <string>

#include "base/case_id.h"
#include "datasets/source.h"
#include "models/spec/model.h"
#include "models/spec/synchronised.h"
#include "parallelism/plan/strategies/strategies.h"

namespace parabench::exec {

/// A stem, residual blocks (one with a strided shortcut) and a head, 8 x 8 images in 4 classes. At least 4 layers.
inline models::ModelSpec small_network(int layers = 6) {
  const auto block = [](std::string name, int in, int out, int stride) {
    models::LayerSpec layer = models::chain(name, {{name + ".conv1", models::Conv2d{in, out, 3, stride, 1}},
                                                   {name + ".bn1", models::BatchNorm{out}},
                                                   {name + ".relu", models::Relu{}},
                                                   {name + ".conv2", models::Conv2d{out, out, 3, 1, 1}},
                                                   {name + ".bn2", models::BatchNorm{out}}});
    const int y = static_cast<int>(layer.nodes.size()) - 1;
    int x = models::layer_input;
    if (stride != 1 || in != out)
      x = models::append(layer,
                         {{name + ".downsample.0", models::Conv2d{in, out, 1, stride, 0}},
                          {name + ".downsample.1", models::BatchNorm{out}}},
                         x);
    models::append(layer, {{name + ".relu2", models::Relu{}}},
                   models::append(layer, {name + ".add", models::Add{}}, {y, x}));
    return layer;
  };
  models::ModelSpec model;
  model.name = "small";
  model.input = {3, 8, 8};
  model.classes = 4;
  const models::LayerSpec stem = models::chain(
      "stem", {{"conv1", models::Conv2d{3, 8, 3, 1, 1}}, {"bn1", models::BatchNorm{8}}, {"relu", models::Relu{}}});
  const models::LayerSpec head =
      models::chain("head", {{"avgpool", models::GlobalAveragePool{}}, {"fc", models::Linear{16, 4}}});
  model.layers = {stem, block("a", 8, 8, 1), block("b", 8, 16, 2)};
  for (char name = 'c'; static_cast<int>(model.layers.size()) + 1 < layers; ++name) {
    model.layers.push_back(block(std::string(1, name), 16, 16, 1));
  }
  model.layers.push_back(head);
  return model;
}

/// The small network with tensors that skip layers: the output of the stem to three later ones, the input of a block to
/// the last, added there. At least 6 layers.
inline models::ModelSpec small_skipping_network(int layers = 6) {
  models::ModelSpec model = small_network(layers);
  const auto lead = [&](int from, int value, int to, const std::string& port, const TensorSpec& tensor,
                        models::Step step) {
    model.layers[from].makes.push_back({port, value});
    models::LayerSpec& taker = model.layers[to];
    models::LayerSpec with{.name = taker.name, .takes = taker.takes, .makes = taker.makes};
    with.takes.push_back({port, tensor});
    int skipped = models::taken_value(static_cast<int>(with.takes.size()) - 1);
    if (!step.name.empty()) skipped = models::append(with, std::move(step), {skipped});
    const int both = models::append(with, {taker.name + "." + port, models::Add{}}, {models::layer_input, skipped});
    const int moved = static_cast<int>(with.nodes.size());
    for (models::Node node : taker.nodes) {
      for (int& value_read : node.inputs)
        value_read = value_read == models::layer_input ? both : value_read < 0 ? value_read : value_read + moved;
      with.nodes.push_back(std::move(node));
    }
    for (models::MadePort& made : with.makes) made.value += made.value >= 0 ? moved : 0;
    taker = std::move(with);
  };
  const int last = static_cast<int>(model.layers.size()) - 1;
  const int stem = static_cast<int>(model.layers[0].nodes.size()) - 1;
  lead(0, stem, 2, "a", {8, 8, 8}, {});
  lead(0, stem, 3, "b", {8, 8, 8}, {"b.conv", models::Conv2d{8, 16, 3, 2, 1}});
  lead(0, stem, last - 1, "c", {8, 8, 8}, {"c.conv", models::Conv2d{8, 16, 3, 2, 1}});
  lead(3, models::layer_input, last, "d", {16, 4, 4}, {});
  return model;
}

inline std::shared_ptr<const datasets::SampleSource> small_source() {
  datasets::DatasetSpec data;
  data.name = "small";
  data.sample = {3, 8, 8};
  data.classes = 4;
  data.train_size = 100;
  return datasets::open_source(data, {});
}

/// The model with the layers that plans of a case run.
inline models::ModelSpec layers_for(const Case& spec, const models::ModelSpec& model) {
  return spec.sync_bn ? models::synchronised(model) : model;
}

/// The plan of "strategy/np:N/batch:B[/key:value]" on the small network, all layers taken as equally long.
inline plan::Plan small_plan(const std::string& rest, int steps = 6, const models::ModelSpec& model = small_network()) {
  const Case spec = parse_case("resnet18/imagenet-synthetic/" + rest);
  const models::ModelSpec layers = layers_for(spec, model);
  const std::vector<double> equal_seconds(layers.layers.size(), 1.0);
  return plan::make_plan(spec, layers, equal_seconds, steps);
}

}  // namespace parabench::exec
