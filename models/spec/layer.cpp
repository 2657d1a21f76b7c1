#include "models/spec/layer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace parabench::models {
namespace {

std::string value_text(int value) {
  if (value == layer_input) return "x";
  return value < 0 ? fmt::format("p{}", -2 - value) : std::to_string(value);
}

}  // namespace

int append(LayerSpec& layer, std::vector<Step> steps, int from) {
  for (Step& step : steps) from = append(layer, std::move(step), std::vector{from});
  return from;
}

int append(LayerSpec& layer, Step step, std::vector<int> inputs) {
  layer.nodes.push_back({std::move(step.name), step.operation, std::move(inputs)});
  return static_cast<int>(layer.nodes.size()) - 1;
}

LayerSpec chain(std::string name, std::vector<Step> steps) {
  LayerSpec layer{.name = std::move(name)};
  append(layer, std::move(steps), layer_input);
  return layer;
}

std::vector<ParameterSpec> parameters(const LayerSpec& layer) {
  std::vector<ParameterSpec> all;
  for (const Node& node : layer.nodes)
    for (ParameterSpec& parameter : parameters(node.operation, node.name)) all.push_back(std::move(parameter));
  return all;
}

std::vector<ParameterSpec> buffers(const LayerSpec& layer) {
  std::vector<ParameterSpec> all;
  for (const Node& node : layer.nodes)
    for (ParameterSpec& buffer : buffers(node.operation, node.name)) all.push_back(std::move(buffer));
  return all;
}

std::int64_t parameter_count(const LayerSpec& layer) {
  std::int64_t count = 0;
  for (const ParameterSpec& parameter : parameters(layer)) count += parameter.elements();
  return count;
}

bool mixes_samples(const LayerSpec& layer) {
  return std::ranges::any_of(layer.nodes, [](const Node& node) { return mixes_samples(node.operation); });
}

const TensorSpec& value_of(const LayerSpec& layer, const TensorSpec& in, std::span<const TensorSpec> nodes, int value) {
  if (value == layer_input) return in;
  return value < 0 ? layer.takes[-2 - value].tensor : nodes[value];
}

std::vector<TensorSpec> values(const LayerSpec& layer, const TensorSpec& in) {
  std::vector<TensorSpec> all, inputs;
  all.reserve(layer.nodes.size());
  for (const Node& node : layer.nodes) {
    inputs.clear();
    for (const int value : node.inputs) inputs.push_back(value_of(layer, in, all, value));
    all.push_back(output(node.operation, node.name, inputs));
  }
  return all;
}

TensorSpec output(const LayerSpec& layer, const TensorSpec& in) { return values(layer, in).back(); }

std::vector<int> readers(const LayerSpec& layer) {
  std::vector<int> count(layer.nodes.size());
  count.back() = 1;
  for (const Node& node : layer.nodes)
    for (const int value : node.inputs)
      if (value >= 0) ++count[value];
  for (const MadePort& made : layer.makes)
    if (made.value >= 0) ++count[made.value];
  return count;
}

std::vector<int> overwritten_inputs(const LayerSpec& layer) {
  const std::vector<int> count = readers(layer);
  std::vector<int> overwritten(layer.nodes.size(), none_overwritten);
  std::vector<bool> free(layer.nodes.size());  // its memory may be written over by its only reader
  const auto may_overwrite = [&](int value) { return value >= 0 && free[value] && count[value] == 1; };
  for (std::size_t i = 0; i < layer.nodes.size(); ++i) {
    const Node& node = layer.nodes[i];
    free[i] = !backward_needs_output(node.operation);
    if (is_view(node.operation)) free[i] = may_overwrite(node.inputs[0]);
    if (!overwrites_input(node.operation)) continue;
    for (std::size_t input = 0; input < node.inputs.size() && overwritten[i] == none_overwritten; ++input)
      if (may_overwrite(node.inputs[input])) overwritten[i] = static_cast<int>(input);
  }
  return overwritten;
}

std::string signature(const LayerSpec& layer, const TensorSpec& in) {
  std::string key;
  for (std::size_t i = 0; i < layer.nodes.size(); ++i) {
    const Node& node = layer.nodes[i];
    if (i > 0) key += '-';
    key += to_text(node.operation);
    if (node.inputs == std::vector{static_cast<int>(i) - 1}) continue;
    std::vector<std::string> inputs;
    for (const int value : node.inputs) inputs.push_back(value_text(value));
    key += fmt::format("<{}>", fmt::join(inputs, ","));
  }
  for (const MadePort& made : layer.makes) key.append("^").append(value_text(made.value));
  key += '@' + to_text(in);
  for (const TakenPort& taken : layer.takes) key += '+' + to_text(taken.tensor);
  return key;
}

}  // namespace parabench::models
