// Batch norm in two operations: statistics, and what is made of them.
#pragma once

#include <torch/types.h>

#include "models/spec/operations/batch_norm_by.h"
#include "models/spec/operations/batch_statistics.h"
#include "models/torch/operations/call.h"

namespace parabench::modules {

torch::Tensor compute(const models::BatchStatistics& op, const Call& call);
torch::Tensor compute(const models::BatchNormBy& op, const Call& call);

}  // namespace parabench::modules
