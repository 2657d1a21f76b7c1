#include "models/spec/operations/upsample.h"

#include <fmt/format.h>

#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec Upsample::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_map(name, in[0]);
  return {in[0][0], in[0][1] * factor, in[0][2] * factor};
}

void Upsample::count(Tally& tally) const {
  const auto n = tally.in().elements(), m = tally.out().elements();
  const bool back = tally.needs_gradient();
  tally.flops(0, back ? m : 0);
  tally.moved(n + m, back ? n + m : 0);
}

std::string Upsample::text() const { return fmt::format("upsample({})", factor); }

}  // namespace parabench::models
