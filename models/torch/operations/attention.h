// Attention between the positions of a sample.
#pragma once

#include <torch/types.h>

#include "models/spec/operations/attention.h"
#include "models/torch/operations/call.h"

namespace parabench::modules {

torch::Tensor compute(const models::Attention& op, const Call& call);

}  // namespace parabench::modules
