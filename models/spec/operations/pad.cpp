#include "models/spec/operations/pad.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec Pad::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_map(name, in[0]);
  const TensorSpec out{in[0][0], in[0][1] + top + bottom, in[0][2] + left + right};
  if (out[1] < 1 || out[2] < 1) throw usage_error(name, to_text(in[0]), "a larger map", "take more pixels");
  return out;
}

void Pad::count(Tally& tally) const {
  const auto n = tally.in().elements(), m = tally.out().elements();
  tally.moved(n + m, tally.needs_gradient() ? n + m : 0);
}

std::string Pad::text() const { return fmt::format("pad({},{},{},{})", top, left, bottom, right); }

}  // namespace parabench::models
