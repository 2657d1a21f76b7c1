// What operations compute: the torch twin of each.
#pragma once

#include <torch/types.h>

#include <span>
#include <string>

#include "models/spec/operation.h"
#include "models/torch/forward_mode.h"

namespace parabench {

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
torch::Tensor compute(const AdaptiveAveragePool& op, const Call& call);
torch::Tensor compute(const Add& op, const Call& call);
torch::Tensor compute(const Attention& op, const Call& call);
torch::Tensor compute(const AveragePool& op, const Call& call);
torch::Tensor compute(const BatchNorm& op, const Call& call);
torch::Tensor compute(const Concat& op, const Call& call);
torch::Tensor compute(const Conv2d& op, const Call& call);
torch::Tensor compute(const Dropout& op, const Call& call);
torch::Tensor compute(const Embedding& op, const Call& call);
torch::Tensor compute(const Flatten& op, const Call& call);
torch::Tensor compute(const Gelu& op, const Call& call);
torch::Tensor compute(const GlobalAveragePool& op, const Call& call);
torch::Tensor compute(const InstanceNorm& op, const Call& call);
torch::Tensor compute(const LayerNorm& op, const Call& call);
torch::Tensor compute(const LeakyRelu& op, const Call& call);
torch::Tensor compute(const Linear& op, const Call& call);
torch::Tensor compute(const MaxPool& op, const Call& call);
torch::Tensor compute(const Pad& op, const Call& call);
torch::Tensor compute(const Positions& op, const Call& call);
torch::Tensor compute(const Relu& op, const Call& call);
torch::Tensor compute(const Relu6& op, const Call& call);
torch::Tensor compute(const Upsample& op, const Call& call);

}  // namespace parabench
