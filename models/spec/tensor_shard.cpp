#include "models/spec/tensor_shard.h"

#include <string>
#include <variant>
#include <vector>

#include "base/error.h"

namespace parabench::models {
namespace {

/// Places of nodes: linear, what lies between, linear.
struct Pair {
  int columns = 0, between = 0, rows = 0;
};

std::vector<Pair> pairs_of(const LayerSpec& layer) {
  const auto is_linear = [&](int value) {
    return value >= 0 && std::holds_alternative<Linear>(layer.nodes[value].operation);
  };
  std::vector<Pair> pairs;
  for (int rows = 0; rows < static_cast<int>(layer.nodes.size()); ++rows) {
    if (!is_linear(rows)) continue;
    const int between = layer.nodes[rows].inputs.front();
    if (between < 0) continue;
    const Operation& middle = layer.nodes[between].operation;
    if (!std::holds_alternative<Attention>(middle) && !std::holds_alternative<Gelu>(middle)) continue;
    const int columns = layer.nodes[between].inputs.front();
    if (is_linear(columns)) pairs.push_back({columns, between, rows});
  }
  return pairs;
}

void divide(int& number, int ranks, const std::string& what) {
  if (number % ranks != 0)
    throw usage_error("tp", std::to_string(ranks), "a divisor of " + what + ", " + std::to_string(number));
  number /= ranks;
}

}  // namespace

int tensor_sums(const LayerSpec& layer) { return static_cast<int>(pairs_of(layer).size()); }

ModelSpec tensor_shard(const ModelSpec& model, int ranks) {
  ModelSpec shard = model;
  bool divided = false;
  for (LayerSpec& layer : shard.layers) {
    for (const auto& [columns, between, rows] : pairs_of(layer)) {
      divided = true;
      if (auto* attention = std::get_if<Attention>(&layer.nodes[between].operation))
        divide(attention->heads, ranks, "the heads of " + model.name);
      divide(std::get<Linear>(layer.nodes[columns].operation).out, ranks,
             "the features of " + layer.nodes[columns].name);
      divide(std::get<Linear>(layer.nodes[rows].operation).in, ranks, "the features of " + layer.nodes[rows].name);
    }
  }
  if (!divided)
    throw usage_error("tp", std::to_string(ranks), "1 for " + model.name + ", which has no blocks of a transformer",
                      "leave tp out");
  return shard;
}

}  // namespace parabench::models
