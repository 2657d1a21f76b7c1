#include "models/spec/operations/group_norm.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec GroupNorm::output(const std::string& name, std::span<const TensorSpec> in) const {
  if (groups < 1 || channels % groups != 0)
    throw usage_error(name, std::to_string(groups),
                      fmt::format("a number of groups that divides {} channels", channels),
                      "1 takes all channels together");
  require_channels(name, in[0], channels);
  if (in[0].elements() == groups)
    throw usage_error(name, to_text(in[0]), "groups of more than one element, whose deviation is not 0",
                      groups == 1 ? "take more pixels" : "take more pixels or fewer groups");
  return in[0];
}

std::vector<ParameterSpec> GroupNorm::parameters(const std::string& name) const {
  if (!affine) return {};
  return {{name + ".weight", {channels}, {Initial::constant, 1}}, {name + ".bias", {channels}, {}}};
}

// Forward reads the map for the statistics and again to normalise; backward reads map and gradient twice. With weights,
// narrow activations are cast to the type of the parameters and back, and the wide copy is kept.
void GroupNorm::count(Tally& tally) const {
  const auto n = tally.in().elements();
  const bool back = affine || tally.needs_gradient(), wide = affine && tally.is_narrow();
  tally.flops(n, back ? n : 0);
  const std::int64_t element = wide ? tally.parameter_bytes() : tally.element_bytes();
  const std::int64_t casts = wide ? 2 * n * (tally.element_bytes() + tally.parameter_bytes()) : 0;
  tally.moved_bytes(3 * n * element + casts, back ? 5 * n * element + casts : 0);
  if (affine) {
    tally.weights(2 * channels, false);
    tally.early_gradients(2 * channels);
  }
  if (!back) return;
  if (wide)
    tally.keep_bytes(n * tally.parameter_bytes());
  else
    tally.keep_input();
  tally.keep_bytes(2 * groups * tally.parameter_bytes());  // mean and inverse deviation
}

std::string GroupNorm::text() const {
  return fmt::format("group_norm({},{}{})", channels, groups, affine ? "" : ",plain");
}

}  // namespace parabench::models
