#include "models/spec/operations/instance_norm.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec InstanceNorm::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_channels(name, in[0], channels);
  if (in[0].elements_per_row() == 1)
    throw usage_error(name, to_text(in[0]), "a map of more than one pixel, whose deviation is not 0",
                      "take more pixels");
  return in[0];
}

void InstanceNorm::count(Tally& tally) const {
  const auto n = tally.in().elements();
  const bool back = tally.needs_gradient();
  tally.flops(n, back ? n : 0);
  tally.moved(3 * n, back ? 5 * n : 0);
  if (!back) return;
  tally.keep_input();
  tally.keep_bytes(2 * channels * tally.parameter_bytes());  // mean and inverse deviation
}

std::string InstanceNorm::text() const { return fmt::format("instance_norm({})", channels); }

}  // namespace parabench::models
