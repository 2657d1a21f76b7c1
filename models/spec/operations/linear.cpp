#include "models/spec/operations/linear.h"

#include <fmt/format.h>

#include <cmath>

#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec Linear::output(const std::string& name, std::span<const TensorSpec> inputs) const {
  require_features(name, inputs[0], in);
  return inputs[0].with(inputs[0].rank() - 1, out);
}

std::vector<ParameterSpec> Linear::parameters(const std::string& name) const {
  const Initial uniform{Initial::uniform, 1 / std::sqrt(1.0 * in)};
  std::vector<ParameterSpec> all{
      {name + ".weight", {out, in}, deviation > 0 ? Initial{Initial::normal, deviation} : uniform}};
  if (bias) all.push_back({name + ".bias", {out}, deviation > 0 ? Initial{} : uniform});
  return all;
}

void Linear::count(Tally& tally) const {
  tally.weight_product(in);
  tally.weights(std::int64_t{1} * out * in, tally.needs_gradient());
  if (bias) tally.weights(out, false);
}

std::string Linear::text() const { return fmt::format("linear({},{}{})", in, out, bias ? "" : ",no bias"); }

}  // namespace parabench::models
