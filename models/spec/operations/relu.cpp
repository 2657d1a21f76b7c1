#include "models/spec/operations/relu.h"

#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec Relu::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_real(name, in[0]);
  return in[0];
}

void Relu::count(Tally& tally) const {
  const auto n = tally.in().elements();
  tally.flops(n, tally.needs_gradient() ? n : 0);
  tally.moved(2 * n, tally.needs_gradient() ? 3 * n : 0);
  if (tally.needs_gradient()) tally.keep_output();
}

std::string Relu::text() const { return "relu"; }

}  // namespace parabench::models
