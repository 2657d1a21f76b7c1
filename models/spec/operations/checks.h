// What operations check about their inputs.
#pragma once

#include <string>

#include "base/tensor_spec.h"
#include "models/spec/operations/extent.h"

namespace parabench::models {

/// Throws usage_error naming the operation unless the tensor is a map {channels, height, width} of real numbers.
void require_map(const std::string& name, const TensorSpec& in);
/// ... and has so many channels.
void require_channels(const std::string& name, const TensorSpec& in, std::int64_t channels);
/// Throws usage_error unless the last dimension has so many entries, real numbers all.
void require_features(const std::string& name, const TensorSpec& in, std::int64_t features);
void require_real(const std::string& name, const TensorSpec& in);

/// The map of `channels` channels after a window slid over `in`; throws usage_error where the map is too small.
TensorSpec slide(const std::string& name, const TensorSpec& in, std::int64_t channels, Extent kernel, int stride,
                 Extent padding);

}  // namespace parabench::models
