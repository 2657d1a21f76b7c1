// What operations compute: the torch twin of each.
#pragma once

#include <torch/types.h>

#include <span>
#include <string>

#include "models/spec/operation.h"
#include "models/torch/forward_mode.h"

namespace parabench::modules {

/// What an operation computes with.
struct Call {
  const std::string& name;  ///< the node's
  std::span<const torch::Tensor> inputs;
  std::span<const torch::Tensor> parameters, buffers;  ///< the operation's own
  const ForwardMode& mode;
  int overwritten;  ///< the input whose memory the output takes (models/spec/layer.h), or none_overwritten
  const torch::Tensor& x() const { return inputs[0]; }
};

/// The output, in training mode. With ForwardMode::deferred, what has parameters computes what the ATen operation of
/// its name computes, bit for bit, forward and backward, also under autocast; between the two parts of the backward a
/// product keeps its input and the gradient of its output, a norm, whose gradients come out of one kernel, those.
torch::Tensor compute(const models::AdaptiveAveragePool& op, const Call& call);
torch::Tensor compute(const models::Add& op, const Call& call);
torch::Tensor compute(const models::Attention& op, const Call& call);
torch::Tensor compute(const models::AveragePool& op, const Call& call);
torch::Tensor compute(const models::BatchNorm& op, const Call& call);
torch::Tensor compute(const models::Concat& op, const Call& call);
torch::Tensor compute(const models::Conv2d& op, const Call& call);
torch::Tensor compute(const models::Dropout& op, const Call& call);
torch::Tensor compute(const models::Embedding& op, const Call& call);
torch::Tensor compute(const models::Flatten& op, const Call& call);
torch::Tensor compute(const models::Gelu& op, const Call& call);
torch::Tensor compute(const models::GlobalAveragePool& op, const Call& call);
torch::Tensor compute(const models::GroupNorm& op, const Call& call);
torch::Tensor compute(const models::LayerNorm& op, const Call& call);
torch::Tensor compute(const models::LeakyRelu& op, const Call& call);
torch::Tensor compute(const models::Linear& op, const Call& call);
torch::Tensor compute(const models::MaxPool& op, const Call& call);
torch::Tensor compute(const models::Pad& op, const Call& call);
torch::Tensor compute(const models::Positions& op, const Call& call);
torch::Tensor compute(const models::Relu& op, const Call& call);
torch::Tensor compute(const models::Relu6& op, const Call& call);
torch::Tensor compute(const models::Upsample& op, const Call& call);

}  // namespace parabench::modules
