#include "models/spec/operations/adaptive_average_pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec AdaptiveAveragePool::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_map(name, in[0]);
  return {in[0][0], side, side};
}

void AdaptiveAveragePool::count(Tally& tally) const {
  const auto n = tally.in().elements(), m = tally.out().elements();
  const bool back = tally.needs_gradient();
  tally.flops(std::max(n, m), back ? std::max(n, m) : 0);
  tally.moved(n + m, back ? n + m : 0);
  if (back && side > 1) tally.keep_input();  // ATen's mean, which it takes for a single window, needs only its shape
}

std::string AdaptiveAveragePool::text() const { return fmt::format("adaptive({})", side); }

}  // namespace parabench::models
