#include "models/spec/operations/batch_norm.h"

#include <fmt/format.h>

#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec BatchNorm::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_channels(name, in[0], channels);
  return in[0];
}

std::vector<ParameterSpec> BatchNorm::parameters(const std::string& name) const {
  return {{name + ".weight", {channels}, {Initial::constant, 1}}, {name + ".bias", {channels}, {}}};
}

std::vector<ParameterSpec> BatchNorm::buffers(const std::string& name) const {
  return {{name + ".running_mean", {channels}, {}}, {name + ".running_var", {channels}, {Initial::constant, 1}}};
}

// Forward reads the map for the statistics and again to normalise; backward reads map and gradient twice.
void BatchNorm::count(Tally& tally) const {
  const auto n = tally.in().elements();
  tally.keep_input();
  tally.flops(n, n);
  tally.moved(3 * n, 5 * n);
  tally.weights(2 * channels, false);
  tally.keep_statistics(2 * channels);  // mean and inverse deviation
  tally.early_gradients(2 * channels);
}

std::string BatchNorm::text() const { return fmt::format("bn({})", channels); }

}  // namespace parabench::models
