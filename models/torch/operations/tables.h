// Embeddings and learned positions.
#pragma once

#include <torch/types.h>

#include "models/spec/operations/embedding.h"
#include "models/spec/operations/positions.h"
#include "models/torch/operations/call.h"

namespace parabench::modules {

torch::Tensor compute(const models::Embedding& op, const Call& call);
torch::Tensor compute(const models::Positions& op, const Call& call);

}  // namespace parabench::modules
