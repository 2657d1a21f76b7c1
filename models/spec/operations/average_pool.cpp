#include "models/spec/operations/average_pool.h"

#include <fmt/format.h>

#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec AveragePool::output(const std::string& name, std::span<const TensorSpec> in) const {
  return slide(name, in[0], in[0][0], kernel, stride, padding);
}

void AveragePool::count(Tally& tally) const {
  const auto n = tally.in().elements(), m = tally.out().elements();
  const bool back = tally.needs_gradient();
  tally.flops(m * kernel * kernel, back ? m * kernel * kernel : 0);
  tally.moved(n + m, back ? n + m : 0);
  if (back) tally.keep_input();
}

std::string AveragePool::text() const { return fmt::format("average({},{},{})", kernel, stride, padding); }

}  // namespace parabench::models
