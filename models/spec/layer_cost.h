// What one micro-batch costs a layer.
#pragma once

#include "base/strong.h"

namespace parabench::models {

/// `per_sample` scales with the samples of the micro-batch, `per_batch` does not. A split backward leaves to its weight
/// part the products that give weight gradients; all else, the gradients of norms included, is in its input part.
struct LayerCost {
  Flops forward_per_sample;          ///< a multiply-add counts 2; elementwise operations 1 per element
  Flops backward_per_sample;         ///< input and weight gradients; without the input gradient of the first layer
  Flops backward_weight_per_sample;  ///< what of these is in the weight part
  Bytes moved_forward_per_sample;    ///< activations read and written
  Bytes moved_backward_per_sample;
  Bytes moved_backward_weight_per_sample;  ///< what of these is in the weight part
  /// Of weights, a third each: the forward reads them, the input part reads them, the weight part writes gradients.
  Bytes moved_per_batch;
  Bytes saved_per_sample;         ///< what autograd keeps from forward to backward, input included once
  Bytes saved_taken_per_sample;   ///< what of these are skips that other layers made
  Bytes saved_per_batch;          ///< batch-norm statistics and bf16 weight copies, independent of the samples
  Bytes saved_weight_per_sample;  ///< kept from input part to weight part: inputs and output gradients of products
  Bytes saved_weight_per_batch;   ///< likewise: gradients of norms
  bool keeps_input = false;       ///< backward needs the layer's input, and its output: both are in saved_per_sample
  bool keeps_output = false;
};

}  // namespace parabench::models
