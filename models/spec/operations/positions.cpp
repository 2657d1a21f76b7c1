#include "models/spec/operations/positions.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec Positions::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_features(name, in[0], features);
  if (in[0].rank() != 2) throw usage_error(name, to_text(in[0]), "a sequence: length x features");
  if (in[0][0] > length)
    throw usage_error(name, fmt::format("a sequence of {}", in[0][0]), fmt::format("at most {} positions", length),
                      fmt::format("try sequence={}", in[0][0]));
  return in[0];
}

std::vector<ParameterSpec> Positions::parameters(const std::string& name) const {
  return {{name + ".weight", {length, features}, {Initial::normal, 0.01}}};
}

void Positions::count(Tally& tally) const {
  const auto n = tally.out().elements();
  tally.flops(n, n);
  tally.moved(2 * n, n);
  tally.weights(std::int64_t{1} * length * features, false);
  tally.keep_gradient_for_weights();
}

std::string Positions::text() const { return fmt::format("positions({},{})", length, features); }

}  // namespace parabench::models
