// A transformer that predicts the next token (Vaswani et al. 2017; GPT-2, Radford et al. 2019) as layers.
#pragma once

#include <vector>

#include "models/spec/model.h"

namespace parabench::models {

struct TransformerSize {
  int layers = 12, hidden = 768, heads = 12;
  int sequence = 1024;  ///< positions; a sample may be shorter
};

/// Token embedding with learned positions, `layers` blocks of attention and perceptron (4 x hidden, GELU), each behind
/// a layer norm and added to what it reads, and a head of layer norm and linear layer: a layer each. Names and first
/// values are GPT-2's.
std::vector<LayerSpec> transformer_layers(const TransformerSize& size, int vocabulary);
/// The head's matrix as the token embedding's, as GPT-2 has it.
Tie transformer_tie(const std::vector<LayerSpec>& layers);

}  // namespace parabench::models
