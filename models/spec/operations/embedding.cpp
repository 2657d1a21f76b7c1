#include "models/spec/operations/embedding.h"

#include <fmt/format.h>

#include "base/error.h"

namespace parabench::models {

TensorSpec Embedding::output(const std::string& name, std::span<const TensorSpec> in) const {
  if (in[0].rank() != 1 || in[0].kind() != ElementKind::int64)
    throw usage_error(name, to_text(in[0]), "a row of token ids", "take a data set of tokens");
  return {in[0][0], features};
}

std::vector<ParameterSpec> Embedding::parameters(const std::string& name) const {
  return {{name + ".weight", {entries, features}, {Initial::normal, 0.02}}};
}

// The rows read in forward and those added to in backward; a gradient of the whole table is written.
void Embedding::count(Tally& tally) const {
  const auto m = tally.out().elements();
  tally.keep_input();
  tally.flops(0, m);
  tally.moved_bytes(m * (tally.parameter_bytes() + tally.element_bytes()), m * tally.parameter_bytes());
  tally.weights(std::int64_t{1} * entries * features, false);
  tally.keep_for_weights(tally.is_narrow());
}

std::string Embedding::text() const { return fmt::format("embedding({},{})", entries, features); }

}  // namespace parabench::models
