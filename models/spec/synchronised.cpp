#include "models/spec/synchronised.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <variant>

namespace parabench::models {
namespace {

bool is_norm(const Node& node) { return std::holds_alternative<BatchNorm>(node.operation); }

/// The parts of one layer. Values are those of the layer that is cut; a part has its own for those that it computes or
/// takes.
class Cut {
 public:
  Cut(const LayerSpec& layer, const TensorSpec& in) : layer_(layer), in_(in), tensors_(values(layer, in)) {}

  std::vector<LayerSpec> run() {
    parts_.push_back({.name = layer_.name});
    own_.push_back({{layer_input, layer_input}});
    const auto last_take = static_cast<int>(layer_.takes.size());
    for (int i = 0; i < std::ssize(layer_.nodes); ++i) {
      const Node& node = layer_.nodes[i];
      if (is_norm(node)) begin_part(node);
      Node copy{node.name, node.operation, {}};
      for (const int value : node.inputs) copy.inputs.push_back(local(value));
      if (is_norm(node)) {
        copy.operation = BatchNormBy{std::get<BatchNorm>(node.operation).channels};
        copy.inputs.push_back(layer_input);
      }
      parts_.back().nodes.push_back(std::move(copy));
      made_in_[i] = static_cast<int>(parts_.size()) - 1;
      own_.back()[i] = static_cast<int>(parts_.back().nodes.size()) - 1;
    }
    // What the layer only hands on.
    for (int port = 0; port < last_take; ++port)
      if (!made_in_.contains(taken_value(port))) local(taken_value(port));
    for (const MadePort& made : layer_.makes) {
      const int part = home(made.value);
      parts_[part].makes.push_back({made.port, own_[part].at(made.value)});
    }
    return std::move(parts_);
  }

 private:
  /// Ends the part with the statistics of what the norm reads.
  void begin_part(const Node& norm) {
    const BatchStatistics statistics{std::get<BatchNorm>(norm.operation).channels};
    const int read = local(norm.inputs.front());
    parts_.back().nodes.push_back({norm.name + ".statistics", statistics, {read}});
    parts_.push_back({.name = layer_.name + '.' + std::to_string(parts_.size())});
    own_.emplace_back();
  }

  int home(int value) const { return value == layer_input ? 0 : made_in_.at(value); }

  /// The value in the latest part, which takes it where an earlier one has it.
  int local(int value) {
    std::map<int, int>& own = own_.back();
    if (const auto known = own.find(value); known != own.end()) return known->second;
    LayerSpec& part = parts_.back();
    const int number = static_cast<int>(parts_.size()) - 1;
    const int taken = own[value] = taken_value(static_cast<int>(part.takes.size()));
    const bool comes_from_outside = value < layer_input && !made_in_.contains(value);
    if (comes_from_outside) {
      part.takes.push_back(layer_.takes[-2 - value]);
      made_in_[value] = number;
      return taken;
    }
    const int maker = home(value);
    const std::string port = name(value) + '>' + std::to_string(number);
    part.takes.push_back({port, value_of(layer_, in_, tensors_, value)});
    parts_[maker].makes.push_back({port, own_[maker].at(value)});
    return taken;
  }

  std::string name(int value) const {
    if (value == layer_input) return layer_.name + ".input";
    return value < 0 ? layer_.takes[-2 - value].port : layer_.nodes[value].name;
  }

  const LayerSpec& layer_;
  TensorSpec in_;
  std::vector<TensorSpec> tensors_;
  std::vector<LayerSpec> parts_;
  std::vector<std::map<int, int>> own_;  ///< of each part: the layer's values by the part's
  std::map<int, int> made_in_;           ///< by value, but for the layer's input: the part that made or first took it
};

}  // namespace

ModelSpec synchronised(const ModelSpec& model) {
  ModelSpec cut = model;
  cut.layers.clear();
  TensorSpec in = model.input;
  for (const LayerSpec& layer : model.layers) {
    const TensorSpec out = output(layer, in);
    if (std::ranges::any_of(layer.nodes, is_norm)) {
      std::ranges::move(Cut(layer, in).run(), std::back_inserter(cut.layers));
    } else {
      cut.layers.push_back(layer);
    }
    in = out;
  }
  if (!model.tie) return cut;
  const auto place = [&](const ParameterPlace& before) {
    return find_parameter(cut.layers, parameters(model.layers[before.layer])[before.parameter].name);
  };
  cut.tie = {place(model.tie->original), place(model.tie->copy)};
  return cut;
}

}  // namespace parabench::models
