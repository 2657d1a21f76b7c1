#include "models/spec/operations/concat.h"

#include "base/error.h"
#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec Concat::output(const std::string& name, std::span<const TensorSpec> in) const {
  std::int64_t rows = 0;
  for (const TensorSpec& part : in) {
    require_real(name, part);
    if (part.rank() != in[0].rank() || part.with(0, in[0][0]) != in[0])
      throw usage_error(name, to_text(part), "parts that differ in channels only, as " + to_text(in[0]));
    rows += part[0];
  }
  return in[0].with(0, rows);
}

void Concat::count(Tally& tally) const {
  const auto m = tally.out().elements();
  tally.moved(2 * m, 0);
}

std::string Concat::text() const { return "concat"; }

}  // namespace parabench::models
