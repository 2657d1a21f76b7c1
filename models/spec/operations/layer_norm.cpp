#include "models/spec/operations/layer_norm.h"

#include <fmt/format.h>

#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec LayerNorm::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_features(name, in[0], features);
  return in[0];
}

std::vector<ParameterSpec> LayerNorm::parameters(const std::string& name) const {
  return {{name + ".weight", {features}, {Initial::constant, 1}}, {name + ".bias", {features}, {}}};
}

// A row's features stay in cache: each tensor passes once. Narrow activations are cast to the type of the parameters
// and back, and the wide copy is kept.
void LayerNorm::count(Tally& tally) const {
  const auto n = tally.in().elements();
  if (tally.is_narrow())
    tally.keep_bytes(n * tally.parameter_bytes());
  else
    tally.keep_input();
  tally.flops(n, n);
  const std::int64_t casts = tally.is_narrow() ? 2 * n * (tally.element_bytes() + tally.parameter_bytes()) : 0;
  tally.moved_bytes(2 * n * tally.parameter_bytes() + casts, 3 * n * tally.parameter_bytes() + casts);
  tally.weights(2 * features, false);
  tally.keep_bytes(n / features * 2 * tally.parameter_bytes());  // mean and inverse deviation of each row
  tally.early_gradients(2 * features);
}

std::string LayerNorm::text() const { return fmt::format("ln({})", features); }

}  // namespace parabench::models
