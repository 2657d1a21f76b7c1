// Activations, sums and changes of shape.
#pragma once

#include <torch/types.h>

#include "models/spec/operations/add.h"
#include "models/spec/operations/concat.h"
#include "models/spec/operations/flatten.h"
#include "models/spec/operations/gelu.h"
#include "models/spec/operations/leaky_relu.h"
#include "models/spec/operations/pad.h"
#include "models/spec/operations/relu.h"
#include "models/spec/operations/relu6.h"
#include "models/spec/operations/upsample.h"
#include "models/torch/operations/call.h"

namespace parabench::modules {

torch::Tensor compute(const models::Add& op, const Call& call);
torch::Tensor compute(const models::Concat& op, const Call& call);
torch::Tensor compute(const models::Flatten& op, const Call& call);
torch::Tensor compute(const models::Gelu& op, const Call& call);
torch::Tensor compute(const models::LeakyRelu& op, const Call& call);
torch::Tensor compute(const models::Pad& op, const Call& call);
torch::Tensor compute(const models::Relu& op, const Call& call);
torch::Tensor compute(const models::Relu6& op, const Call& call);
torch::Tensor compute(const models::Upsample& op, const Call& call);

}  // namespace parabench::modules
