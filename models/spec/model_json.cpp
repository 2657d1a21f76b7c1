#include "models/spec/model_json.h"

#include <nlohmann/json.hpp>

#include "base/enum_text.h"

namespace parabench::models {
namespace {

using nlohmann::json;

json pair_of(const Extent& extent) { return {extent.height, extent.width}; }

json fields(const Conv2d& op) {
  return {{"type", "Conv2d"},    {"in", op.in},
          {"out", op.out},       {"kernel", pair_of(op.kernel)},
          {"stride", op.stride}, {"padding", pair_of(op.padding)},
          {"groups", op.groups}, {"bias", op.bias}};
}
json fields(const BatchNorm& op) { return {{"type", "BatchNorm"}, {"channels", op.channels}}; }
json fields(const BatchStatistics& op) { return {{"type", "BatchStatistics"}, {"channels", op.channels}}; }
json fields(const BatchNormBy& op) { return {{"type", "BatchNormBy"}, {"channels", op.channels}}; }
json fields(const LayerNorm& op) { return {{"type", "LayerNorm"}, {"features", op.features}}; }
json fields(const Relu&) { return {{"type", "Relu"}}; }
json fields(const MaxPool& op) {
  return {{"type", "MaxPool"}, {"kernel", op.kernel}, {"stride", op.stride}, {"padding", op.padding}};
}
json fields(const GlobalAveragePool&) { return {{"type", "GlobalAveragePool"}}; }
json fields(const Linear& op) { return {{"type", "Linear"}, {"in", op.in}, {"out", op.out}, {"bias", op.bias}}; }
json fields(const Flatten&) { return {{"type", "Flatten"}}; }
json fields(const Add&) { return {{"type", "Add"}}; }
json fields(const Concat&) { return {{"type", "Concat"}}; }
json fields(const Relu6&) { return {{"type", "Relu6"}}; }
json fields(const LeakyRelu&) { return {{"type", "LeakyRelu"}}; }
json fields(const Gelu&) { return {{"type", "Gelu"}}; }
json fields(const AveragePool& op) {
  return {{"type", "AveragePool"}, {"kernel", op.kernel}, {"stride", op.stride}, {"padding", op.padding}};
}
json fields(const AdaptiveAveragePool& op) { return {{"type", "AdaptiveAveragePool"}, {"side", op.side}}; }
json fields(const GroupNorm& op) {
  return {{"type", "GroupNorm"}, {"channels", op.channels}, {"groups", op.groups}, {"affine", op.affine}};
}
json fields(const Dropout& op) {
  return {{"type", "Dropout"}, {"probability", op.probability}, {"channels", op.channels}};
}
json fields(const Upsample& op) { return {{"type", "Upsample"}, {"factor", op.factor}}; }
json fields(const Pad& op) {
  return {{"type", "Pad"}, {"top", op.top}, {"left", op.left}, {"bottom", op.bottom}, {"right", op.right}};
}
json fields(const Embedding& op) { return {{"type", "Embedding"}, {"entries", op.entries}, {"features", op.features}}; }
json fields(const Positions& op) { return {{"type", "Positions"}, {"length", op.length}, {"features", op.features}}; }
json fields(const Attention& op) { return {{"type", "Attention"}, {"heads", op.heads}, {"causal", op.causal}}; }

json tensor(const TensorSpec& spec) {
  return {{"dims", std::vector<std::int64_t>(spec.dims().begin(), spec.dims().end())}, {"kind", to_text(spec.kind())}};
}

json tensors(const std::vector<ParameterSpec>& all) {
  json list = json::array();
  for (const ParameterSpec& one : all) list.push_back({{"name", one.name}, {"shape", one.shape}});
  return list;
}

json layer_json(const LayerSpec& layer) {
  json nodes = json::array(), takes = json::array(), makes = json::array();
  for (const Node& node : layer.nodes) {
    nodes.push_back({{"name", node.name},
                     {"operation", std::visit([](const auto& op) { return fields(op); }, node.operation)},
                     {"inputs", node.inputs}});
  }
  for (const TakenPort& port : layer.takes) takes.push_back(port.port);
  for (const MadePort& port : layer.makes) makes.push_back({{"port", port.port}, {"value", port.value}});
  return {{"name", layer.name},
          {"nodes", std::move(nodes)},
          {"takes", std::move(takes)},
          {"makes", std::move(makes)},
          {"parameters", tensors(parameters(layer))},
          {"buffers", tensors(buffers(layer))}};
}

json place(const ParameterPlace& at) { return {at.layer, at.parameter}; }

}  // namespace

json to_json(const ModelSpec& model) {
  json layers = json::array(), tie;
  for (const LayerSpec& layer : model.layers) layers.push_back(layer_json(layer));
  if (model.tie) tie = {{"original", place(model.tie->original)}, {"copy", place(model.tie->copy)}};
  return {{"name", model.name},
          {"input", tensor(model.input)},
          {"classes", model.classes},
          {"layers", std::move(layers)},
          {"tie", std::move(tie)}};
}

}  // namespace parabench::models
