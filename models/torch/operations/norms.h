// Norms.
#pragma once

#include <torch/types.h>

#include "models/spec/operations/batch_norm.h"
#include "models/spec/operations/group_norm.h"
#include "models/spec/operations/layer_norm.h"
#include "models/torch/operations/call.h"

namespace parabench::modules {

torch::Tensor compute(const models::BatchNorm& op, const Call& call);
torch::Tensor compute(const models::GroupNorm& op, const Call& call);
torch::Tensor compute(const models::LayerNorm& op, const Call& call);

}  // namespace parabench::modules
