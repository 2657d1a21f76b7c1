#include "models/spec/operations/flatten.h"

#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec Flatten::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_real(name, in[0]);
  return {in[0].elements()};
}

void Flatten::count(Tally&) const {}

std::string Flatten::text() const { return "flatten"; }

}  // namespace parabench::models
