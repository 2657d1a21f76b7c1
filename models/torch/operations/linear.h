// Products with a matrix of weights.
#pragma once

#include <torch/types.h>

#include "models/spec/operations/linear.h"
#include "models/torch/operations/call.h"

namespace parabench::modules {

torch::Tensor compute(const models::Linear& op, const Call& call);

}  // namespace parabench::modules
