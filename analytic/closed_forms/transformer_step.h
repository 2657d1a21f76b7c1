// The step of a transformer with tensor, pipeline (1F1B) and data parallelism and full recomputation, composed of the
// time of one layer; and that time by a formula. Symbols as in transformer.h; d copies, m = B / (d b) micro-batches.
#pragma once

#include "analytic/closed_forms/closed_forms.h"
#include "analytic/closed_forms/transformer.h"

namespace parabench::analytic {

struct TransformerRun {
  Transformer model;
  double batch = 0, micro_batch = 0, tensor = 1, pipeline = 1, data = 1;
};

/// What a layer's time is made of, on a GPU that would reach `flops_per_s` in large matrix products.
struct LayerCosts {
  double flops_per_s = 0;
  /// Passes through memory, at 1.6e12 bytes/s: k1 of what tensor parallelism divides, k2 of what it does not, in bytes
  /// per element of b s h; k3 in bytes per element of the a s^2 b / t scores.
  double k1 = 0, k2 = 0, k3 = 0;
  double launch_s = 0;  ///< what the four passes of a layer take at least
  Link tensor;          ///< between tensor-parallel ranks
};

/// Seconds of a layer's forward, recomputation and backward: (t_gpu^4 + launch^4)^(1/4) + 6 AR(2 b s h, t), with
/// t_gpu = 4 F / flops_per_s + 2 (b s h (k1 / t + k2) + k3 a s^2 b / t) / 1.6e12, F a layer's forward divided by t, and
/// AR(n, q) = latency log2 q + 2 (q-1)/q n / bytes_per_s.
double transformer_layer(const TransformerRun& run, const LayerCosts& costs);

/// The same of a GPU that works at matrix products tile by tile.
struct WaveCosts {
  double flops_per_s = 0;   ///< of processors that all have a tile
  double score_bytes = 0;   ///< moved by two passes for each of the a s^2 b / t scores, at 1.6e12 bytes/s
  double launch_s = 0;      ///< what launching the passes of a layer takes at least
  double unfused_s = 0;     ///< what it takes more where softmax is not one kernel
  Link tensor;              ///< between tensor-parallel ranks, in a ring
  double processors = 108;  ///< of the GPU: those of an A100
};

/// Seconds of a layer's forward, recomputation and backward: ((t_gpu + 6 AR(2 b s h, t))^4 + t_launch^4)^(1/4).
///  - t_gpu = (W + 16 b s^2 h / t) / flops_per_s + 2 score_bytes a s^2 b / t / 1.6e12. W: what the layer's matrix
///    products cost in whole waves. Each is cut into tiles of 256 x 128, lying or standing, and as many as there are
///    processors run at a time, so that a last wave of a few tiles takes as long as a full one (NVIDIA, Matrix
///    Multiplication Background User's Guide, "wave quantization"). Those of the forward run twice, those of either
///    gradient once.
///  - AR(n, q) = 2 (q-1) latency + 2 (q-1)/q n / bytes_per_s: kernels and collectives stand in one stream.
///  - t_launch is launch_s, and unfused_s more where b a / t is no multiple of four, which Megatron-LM's fused softmax
///    wants (megatron/model/fused_softmax.py).
double transformer_layer_in_waves(const TransformerRun& run, const WaveCosts& costs);

/// What composes a step of layers. `hop`: from a stage to the next. `data`: between the copies.
struct StepCosts {
  double head_flops_per_s = 0;  ///< of the output layer
  double logit_bytes = 0;       ///< that it moves for each of the b s V / t logits, at 1.6e12 bytes/s
  Link hop, data;
  double update_s_per_parameter = 0, fixed_s = 0;
};

/// Seconds of a step whose layers take `layer_s` each: (m-1) (last + hop) + (P-1) (stage + hop) + last + AR(2 Q, d) +
/// update Q + fixed. stage = L / P layers; last = stage + 6 b s h V / (t head_flops_per_s) + logit_bytes b s V / t /
/// 1.6e12; a hop there and back, if P > 1; Q = (12 L h^2 + V h) / (t P) parameters of a rank.
double transformer_step(const TransformerRun& run, double layer_s, const StepCosts& costs);

}  // namespace parabench::analytic
