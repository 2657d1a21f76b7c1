#include "models/spec/operations/batch_statistics.h"

#include <fmt/format.h>

#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec BatchStatistics::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_channels(name, in[0], channels);
  return statistics_tensor(channels);
}

// Backward reads the map and writes its gradient.
void BatchStatistics::count(Tally& tally) const {
  const auto n = tally.in().elements();
  tally.keep_input();
  tally.flops(n, n);
  tally.moved(n, 2 * n);
}

std::string BatchStatistics::text() const { return fmt::format("statistics({})", channels); }

}  // namespace parabench::models
