#include "analytic/calibration/process_bytes.h"

#include <cmath>
#include <vector>

#include "base/statistics.h"

namespace parabench::analytic {
namespace {

bool measured_all(const Calibration& launch, const std::vector<LayerKey>& keys) {
  for (const LayerKey& key : keys)
    if (!launch.layers.contains(key)) return false;
  return true;
}

/// Alone, as every launch times its layers.
std::vector<LayerKey> keys_of(const Sizes& sizes, const Case& spec) {
  std::vector<LayerKey> keys;
  for (int l = 0; l < std::ssize(sizes.model().layers); ++l)
    keys.push_back(layer_key(sizes.signature(l), l == 0, spec, 1));
  return keys;
}

}  // namespace

bool has_process_of_its_own(const Case& spec) {
  return spec.device == DeviceKind::cpu && (spec.np == 1 || spec.comm == CommKind::mpi);
}

std::int64_t process_bytes(const Calibration& calibration, const Sizes& sizes, const Case& spec) {
  if (!has_process_of_its_own(spec)) return 0;
  const std::vector<LayerKey> keys = keys_of(sizes, spec);
  std::vector<double> bytes;
  for (const Calibration& launch : launches_in(calibration))
    if (launch.process_bytes > 0 && measured_all(launch, keys))
      bytes.push_back(static_cast<double>(launch.process_bytes));
  return bytes.empty() ? 0 : std::llround(median(bytes));
}

}  // namespace parabench::analytic
