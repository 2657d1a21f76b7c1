#include "models/spec/operations/leaky_relu.h"

#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec LeakyRelu::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_real(name, in[0]);
  return in[0];
}

void LeakyRelu::count(Tally& tally) const {
  const auto n = tally.in().elements();
  tally.flops(n, tally.needs_gradient() ? n : 0);
  tally.moved(2 * n, tally.needs_gradient() ? 3 * n : 0);
  if (tally.needs_gradient()) tally.keep_input();  // the output's memory as well, where it is written over
}

std::string LeakyRelu::text() const { return "leaky_relu"; }

}  // namespace parabench::models
