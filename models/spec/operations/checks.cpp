#include "models/spec/operations/checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace parabench::models {
namespace {

/// Length of a map's side after a window slid over it.
std::int64_t windows(const std::string& name, const TensorSpec& in, std::int64_t side, int kernel, int stride,
                     int padding) {
  if (side < 1 || side + 2 * padding < kernel)
    throw usage_error(name, to_text(in), fmt::format("a map of at least {0}x{0}", std::max(1, kernel - 2 * padding)),
                      "take more pixels");
  return (side + 2 * padding - kernel) / stride + 1;
}

}  // namespace

void require_real(const std::string& name, const TensorSpec& in) {
  if (in.kind() != ElementKind::real)
    throw usage_error(name, to_text(in), "real numbers", "token ids go through an embedding first");
}

void require_map(const std::string& name, const TensorSpec& in) {
  require_real(name, in);
  if (in.rank() != 3) throw usage_error(name, to_text(in), "a map: channels x height x width");
}

void require_channels(const std::string& name, const TensorSpec& in, std::int64_t channels) {
  require_map(name, in);
  if (in[0] != channels) throw usage_error(name, to_text(in), fmt::format("an input of {} channels", channels));
}

void require_features(const std::string& name, const TensorSpec& in, std::int64_t features) {
  require_real(name, in);
  if (in.rank() == 0 || in[in.rank() - 1] != features)
    throw usage_error(name, to_text(in), fmt::format("an input of {} features", features));
}

TensorSpec slide(const std::string& name, const TensorSpec& in, std::int64_t channels, Extent kernel, int stride,
                 Extent padding) {
  require_map(name, in);
  return {channels, windows(name, in, in[1], kernel.height, stride, padding.height),
          windows(name, in, in[2], kernel.width, stride, padding.width)};
}

}  // namespace parabench::models
