#include "models/spec/operations/dropout.h"

#include <fmt/format.h>

#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec Dropout::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_real(name, in[0]);
  if (channels) require_map(name, in[0]);
  return in[0];
}

// A product with a mask of the activations' type.
void Dropout::count(Tally& tally) const {
  const auto n = tally.in().elements(), mask = channels ? tally.in()[0] : n;
  const bool back = tally.needs_gradient();
  tally.flops(n, back ? n : 0);
  tally.moved(2 * n + 2 * mask, back ? 2 * n + mask : 0);
  if (back) tally.keep_bytes(mask * tally.element_bytes());
}

std::string Dropout::text() const { return fmt::format("dropout{}({})", channels ? "2d" : "", probability); }

}  // namespace parabench::models
