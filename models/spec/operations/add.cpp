#include "models/spec/operations/add.h"

#include "base/error.h"
#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec Add::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_real(name, in[0]);
  if (in[1] != in[0]) throw usage_error(name, to_text(in[1]), "a second summand of shape " + to_text(in[0]));
  return in[0];
}

void Add::count(Tally& tally) const {
  const auto n = tally.out().elements();
  tally.flops(n, 0);
  tally.moved(3 * n, 0);
}

std::string Add::text() const { return "add"; }

}  // namespace parabench::models
