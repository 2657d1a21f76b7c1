// Pools.
#pragma once

#include <torch/types.h>

#include "models/spec/operations/adaptive_average_pool.h"
#include "models/spec/operations/average_pool.h"
#include "models/spec/operations/global_average_pool.h"
#include "models/spec/operations/max_pool.h"
#include "models/torch/operations/call.h"

namespace parabench::modules {

torch::Tensor compute(const models::AdaptiveAveragePool& op, const Call& call);
torch::Tensor compute(const models::AveragePool& op, const Call& call);
torch::Tensor compute(const models::GlobalAveragePool& op, const Call& call);
torch::Tensor compute(const models::MaxPool& op, const Call& call);

}  // namespace parabench::modules
