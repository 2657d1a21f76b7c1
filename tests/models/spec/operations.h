// Whether a test has every operation there is.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/spec/model.h"

namespace parabench::models {

/// As text, with its defaults, every operation that none of the layers has.
inline std::vector<std::string> operations_missing_in(const std::vector<LayerSpec>& layers) {
  std::vector<bool> present(std::variant_size_v<Operation>);
  for (const LayerSpec& layer : layers)
    for (const Node& node : layer.nodes) present[node.operation.index()] = true;
  std::vector<std::string> missing;
  const auto look_at = [&]<std::size_t i>() {
    if (!present[i]) missing.push_back(to_text(std::variant_alternative_t<i, Operation>{}));
  };
  [&]<std::size_t... i>(std::index_sequence<i...>) { (look_at.template operator()<i>(), ...); }
  (std::make_index_sequence<std::variant_size_v<Operation>>{});
  return missing;
}

/// The layers of all of them.
inline std::vector<LayerSpec> layers_of(const std::vector<ModelSpec>& models) {
  std::vector<LayerSpec> all;
  for (const ModelSpec& model : models) all.insert(all.end(), model.layers.begin(), model.layers.end());
  return all;
}

}  // namespace parabench::models
