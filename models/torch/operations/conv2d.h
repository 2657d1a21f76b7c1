// Convolutions.
#pragma once

#include <torch/types.h>

#include "models/spec/operations/conv2d.h"
#include "models/torch/operations/call.h"

namespace parabench::modules {

torch::Tensor compute(const models::Conv2d& op, const Call& call);

}  // namespace parabench::modules
