#include "models/spec/operations/global_average_pool.h"

#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec GlobalAveragePool::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_real(name, in[0]);
  return {in[0][0]};
}

void GlobalAveragePool::count(Tally& tally) const {
  const auto n = tally.in().elements(), m = tally.out().elements();
  const bool back = tally.needs_gradient();
  tally.flops(n, back ? n : 0);
  tally.moved(n + m, back ? n + m : 0);
}

std::string GlobalAveragePool::text() const { return "gap"; }

}  // namespace parabench::models
