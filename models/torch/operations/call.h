// What an operation computes with.
#pragma once

#include <torch/types.h>

#include <span>
#include <string>

#include "models/torch/forward_mode.h"

namespace parabench::modules {

/// The argument of compute(), the torch twin of each operation, which returns the output, in training mode. With
/// ForwardMode::deferred, what has parameters computes what the ATen operation of its name computes, bit for bit,
/// forward and backward, also under autocast; between the two parts of the backward a product keeps its input and the
/// gradient of its output, a norm, whose gradients come out of one kernel, those.
struct Call {
  const std::string& name;  ///< the node's
  std::span<const torch::Tensor> inputs;
  std::span<const torch::Tensor> parameters, buffers;  ///< the operation's own
  const ForwardMode& mode;
  int overwritten;  ///< the input whose memory the output takes (models/spec/layer.h), or none_overwritten
  const torch::Tensor& x() const { return inputs[0]; }
};

}  // namespace parabench::modules
