#include "analytic/closed_forms/transformer.h"

namespace parabench::analytic {
namespace {

/// Of a layer: scores, and their product with the values.
double attention_core_flops(const Transformer& model, double batch) {
  return 4 * batch * model.sequence * model.sequence * model.hidden;
}

}  // namespace

double layer_forward_flops(const Transformer& model, double batch) {
  return 24 * batch * model.sequence * model.hidden * model.hidden + attention_core_flops(model, batch);
}

double iteration_flops(const Transformer& model, double batch, TransformerRecompute recompute) {
  const double forward = layer_forward_flops(model, batch);
  double again = 0;
  if (recompute == TransformerRecompute::full) again = forward;
  if (recompute == TransformerRecompute::selective) again = attention_core_flops(model, batch);
  return model.layers * (3 * forward + again) + 6 * batch * model.sequence * model.hidden * model.vocabulary;
}

double layer_activation_bytes(const Transformer& model, double micro_batch, double tensor, bool sequence_parallel,
                              TransformerRecompute recompute) {
  const double unit = model.sequence * micro_batch * model.hidden;
  if (recompute == TransformerRecompute::full) return 2 * unit;
  const double divided = sequence_parallel ? 34 / tensor : 10 + 24 / tensor;
  if (recompute == TransformerRecompute::selective) return unit * divided;
  return unit * (divided + 5 * model.heads * model.sequence / (model.hidden * tensor));
}

double interleaved_activations(double stages, double chunks) {
  return chunks > 1 ? 1 + (stages - 1) / (stages * chunks) : 1;
}

double layer_parameters(const Transformer& model) { return 12 * model.layers * model.hidden * model.hidden; }

}  // namespace parabench::analytic
