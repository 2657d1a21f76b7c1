// Arithmetic and memory of transformers (GPT style: each layer an attention and a perceptron of 4 h), by formulas of
// the papers on Megatron-LM. Symbols: B samples in a batch, b in a micro-batch, s tokens of a sample, h hidden size, a
// heads, L layers, V words, t tensor-parallel ranks, P stages, v chunks of a stage.
#pragma once

#include <array>
#include <string_view>

namespace parabench::analytic {

struct Transformer {
  double layers = 0, hidden = 0, heads = 0, sequence = 0;
  double vocabulary = 0;  ///< 0: the output layer is left out
};

/// What the backward computes once more: nothing, the core of the attention (scores, softmax, their product with the
/// values; Korthikanti et al. 2022, arXiv 2205.05198), or all of the forward.
enum class TransformerRecompute { none, selective, full };
constexpr std::array<std::string_view, 3> names_of(TransformerRecompute) { return {"none", "selective", "full"}; }

/// FLOPs of the forward of a layer: 24 B s h^2 + 4 B s^2 h.
double layer_forward_flops(const Transformer& model, double batch);

/// FLOPs of an iteration (Narayanan et al., SC'21, arXiv 2104.04473): the layers' forwards, backwards twice as long and
/// what is recomputed, 4 B s^2 h a layer if selective, and 6 B s h V for the output layer, which is not. With full
/// recomputation 96 B s L h^2 (1 + s / (6 h) + V / (16 L h)), with none 72 B s L h^2 (1 + s / (6 h) + V / (12 L h)).
double iteration_flops(const Transformer& model, double batch, TransformerRecompute recompute);

/// Bytes that one layer keeps of a micro-batch for its backward in 16-bit precision, on each of t ranks (Korthikanti et
/// al. 2022, table 2), in units of s b h: 10 + 24/t + 5 a s / (h t); with the sequence divided, too, (34 + 5 a s / h)
/// / t; selective recomputation drops the term with a; full recomputation keeps the layer's input alone, 2.
double layer_activation_bytes(const Transformer& model, double micro_batch, double tensor, bool sequence_parallel,
                              TransformerRecompute recompute);

/// What the first stage of an interleaved pipeline keeps of P micro-batches more than one that is not:
/// 1 + (P-1) / (P v); 1 for one chunk, of which it has P micro-batches of L / P layers, L layers in all.
double interleaved_activations(double stages, double chunks);

/// Weights of the layers, biases and norms left out: 12 L h^2.
double layer_parameters(const Transformer& model);

}  // namespace parabench::analytic
