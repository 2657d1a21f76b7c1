#include "models/spec/nets/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"

namespace parabench::models {
namespace {

constexpr double deviation = 0.02;

/// `deepest`: deviation of the projections that are added, smaller the more of them there are.
LayerSpec block(const std::string& name, const TransformerSize& size, double deepest) {
  const int hidden = size.hidden;
  LayerSpec layer{.name = name};
  const int attended = append(layer,
                              {{name + ".ln_1", LayerNorm{hidden}},
                               {name + ".attn.c_attn", Linear{hidden, 3 * hidden, true, deviation}},
                               {name + ".attn", Attention{size.heads, true}},
                               {name + ".attn.c_proj", Linear{hidden, hidden, true, deepest}}},
                              layer_input);
  const int between = append(layer, {name + ".add_1", Add{}}, {attended, layer_input});
  const int perceived = append(layer,
                               {{name + ".ln_2", LayerNorm{hidden}},
                                {name + ".mlp.c_fc", Linear{hidden, 4 * hidden, true, deviation}},
                                {name + ".mlp.gelu", Gelu{}},
                                {name + ".mlp.c_proj", Linear{4 * hidden, hidden, true, deepest}}},
                               between);
  append(layer, {name + ".add_2", Add{}}, {perceived, between});
  return layer;
}

}  // namespace

std::vector<LayerSpec> transformer_layers(const TransformerSize& size, int vocabulary) {
  if (size.hidden % size.heads != 0) {
    int nearest = std::min(size.heads, size.hidden);
    while (size.hidden % nearest != 0) --nearest;
    throw usage_error("heads of transformer", std::to_string(size.heads),
                      fmt::format("a divisor of hidden, {}", size.hidden), fmt::format("try heads={}", nearest));
  }
  std::vector<LayerSpec> layers{chain(
      "embedding", {{"wte", Embedding{vocabulary, size.hidden}}, {"wpe", Positions{size.sequence, size.hidden}}})};
  for (int index = 0; index < size.layers; ++index)
    layers.push_back(block(fmt::format("h.{}", index), size, deviation / std::sqrt(2.0 * size.layers)));
  layers.push_back(chain(
      "head", {{"ln_f", LayerNorm{size.hidden}}, {"lm_head", Linear{size.hidden, vocabulary, false, deviation}}}));
  return layers;
}

Tie transformer_tie(const std::vector<LayerSpec>& layers) {
  return {find_parameter(layers, "wte.weight"), find_parameter(layers, "lm_head.weight")};
}

}  // namespace parabench::models
