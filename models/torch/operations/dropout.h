// Dropouts, and which elements they leave.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/spec/operations/dropout.h"
#include "models/torch/forward_mode.h"
#include "models/torch/operations/call.h"

namespace parabench::modules {

/// A mask of `sizes`, samples first: 0 with the probability, else 1 / (1 - probability). The draws are those of
/// counter_uniform (base/random.h), keyed by seed, name, position of the sample and element of the sample; the same on
/// every device. Contiguous, of the type and on the device of `options`.
torch::Tensor dropout_mask(const std::vector<std::int64_t>& sizes, double probability, const std::string& name,
                           const DropoutDraws& draws, const torch::TensorOptions& options);

/// The same in the device's own arithmetic of integers; what dropout_mask() takes where the device is no processor.
torch::Tensor dropout_mask_on_device(const std::vector<std::int64_t>& sizes, double probability,
                                     const std::string& name, const DropoutDraws& draws,
                                     const torch::TensorOptions& options);

torch::Tensor compute(const models::Dropout& op, const Call& call);

}  // namespace parabench::modules
