#include "models/spec/operations/max_pool.h"

#include <fmt/format.h>

#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec MaxPool::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_map(name, in[0]);
  return slide(name, in[0], in[0][0], kernel, stride, padding);
}

void MaxPool::count(Tally& tally) const {
  const auto n = tally.in().elements(), m = tally.out().elements();
  const bool back = tally.needs_gradient();
  const std::int64_t indices = 8 * m;  // int64, whatever the elements are
  tally.flops(m * kernel * kernel, back ? m : 0);
  tally.moved(n + m, back ? n + m : 0);
  tally.moved_bytes(indices, back ? indices : 0);
  if (!back) return;
  tally.keep_input();
  tally.keep_bytes(indices);
}

std::string MaxPool::text() const { return fmt::format("max({},{},{})", kernel, stride, padding); }

}  // namespace parabench::models
