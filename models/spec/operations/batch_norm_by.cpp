#include "models/spec/operations/batch_norm_by.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/spec/operations/batch_norm.h"
#include "models/spec/operations/batch_statistics.h"
#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec BatchNormBy::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_channels(name, in[0], channels);
  if (in[1] != statistics_tensor(channels))
    throw usage_error(name, to_text(in[1]), fmt::format("statistics of {} channels", channels));
  return in[0];
}

std::vector<ParameterSpec> BatchNormBy::parameters(const std::string& name) const {
  return BatchNorm{channels}.parameters(name);
}

std::vector<ParameterSpec> BatchNormBy::buffers(const std::string& name) const {
  return BatchNorm{channels}.buffers(name);
}

// Backward reads map and gradient for the sums, and the gradient once more.
void BatchNormBy::count(Tally& tally) const {
  const auto n = tally.in().elements();
  tally.keep_input();
  tally.flops(n, n);
  tally.moved(2 * n, 4 * n);
  tally.weights(2 * channels, false);
  tally.keep_statistics(2 * channels + 1);  // mean, variance, number of values
  tally.early_gradients(2 * channels);
}

std::string BatchNormBy::text() const { return fmt::format("bn_by({})", channels); }

}  // namespace parabench::models
