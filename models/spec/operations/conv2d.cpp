#include "models/spec/operations/conv2d.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "models/spec/operations/checks.h"

namespace parabench::models {

namespace {

std::int64_t weights_per_output(const Conv2d& op) {
  return std::int64_t{1} * op.in / op.groups * op.kernel.height * op.kernel.width;
}

}  // namespace

TensorSpec Conv2d::output(const std::string& name, std::span<const TensorSpec> inputs) const {
  if (groups < 1 || in % groups != 0 || out % groups != 0)
    throw usage_error(name, std::to_string(groups),
                      fmt::format("a number of groups that divides {} channels before and {} after it", in, out));
  require_channels(name, inputs[0], in);
  return slide(name, inputs[0], out, kernel, stride, padding);
}

std::vector<ParameterSpec> Conv2d::parameters(const std::string& name) const {
  const double fan_out = 1.0 * out * kernel.height * kernel.width;
  std::vector<ParameterSpec> all{
      {name + ".weight", {out, in / groups, kernel.height, kernel.width}, {Initial::normal, std::sqrt(2.0 / fan_out)}}};
  if (bias) all.push_back({name + ".bias", {out}, {}});
  return all;
}

void Conv2d::count(Tally& tally) const {
  tally.weight_product(weights_per_output(*this));
  tally.weights(out * weights_per_output(*this), true);
  if (bias) tally.weights(out, false);
}

std::string Conv2d::text() const {
  std::string text = fmt::format("conv({},{},{},{},{}", in, out, to_text(kernel), stride, to_text(padding));
  if (groups != 1) text += fmt::format(",groups={}", groups);
  return text + (bias ? ",bias)" : ")");
}

}  // namespace parabench::models
