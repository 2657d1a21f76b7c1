// A layer as data: what it computes, and from that its shapes, parameters, FLOPs and bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/shape.h"
#include "base/strong.h"

namespace parabench {

struct Conv2d {
  int in = 0, out = 0, kernel = 1, stride = 1, padding = 0;  ///< square, no bias
  bool operator==(const Conv2d&) const = default;
};
struct BatchNorm {
  int channels = 0;  ///< eps 1e-5, momentum 0.1, affine, running statistics
  bool operator==(const BatchNorm&) const = default;
};
struct LayerNorm {
  int features = 0;  ///< over the features of a C x 1 x 1 map; eps 1e-5, affine
  bool operator==(const LayerNorm&) const = default;
};
struct Relu {
  bool operator==(const Relu&) const = default;
};
struct MaxPool {
  int kernel = 3, stride = 2, padding = 1;
  bool operator==(const MaxPool&) const = default;
};
struct GlobalAveragePool {  ///< C x H x W -> C x 1 x 1, flattened
  bool operator==(const GlobalAveragePool&) const = default;
};
struct Linear {
  int in = 0, out = 0;  ///< with bias; C x H x W, flattened -> out x 1 x 1
  bool operator==(const Linear&) const = default;
};
using Operation = std::variant<Conv2d, BatchNorm, LayerNorm, Relu, MaxPool, GlobalAveragePool, Linear>;

/// One operation with the name that prefixes its tensors, as torchvision names them ("layer1.0.conv1").
struct Step {
  std::string name;
  Operation operation;
  bool operator==(const Step&) const = default;
};

/// The smallest unit a model is made of, and the finest place to cut it.
/// Plain: y = body(x). Residual: y = relu(body(x) + shortcut(x)), an empty shortcut being the identity; the
/// body ends in a norm. A layer never writes in place into its input.
struct LayerSpec {
  std::string name;
  std::vector<Step> body{};
  bool residual = false;
  std::vector<Step> shortcut{};
  bool operator==(const LayerSpec&) const = default;
};

/// A trainable tensor or a buffer of a layer, in torchvision's registration order.
struct TensorSpec {
  std::string name;                 ///< "layer1.0.conv1.weight"
  std::vector<std::int64_t> shape;  ///< torch's order
  std::int64_t elements() const;
  bool operator==(const TensorSpec&) const = default;
};

/// Trainable parameters in registration order (body, then shortcut).
std::vector<TensorSpec> parameters(const LayerSpec& layer);
/// Floating-point buffers (running_mean, running_var of each batch norm) in registration order.
std::vector<TensorSpec> buffers(const LayerSpec& layer);
std::int64_t parameter_count(const LayerSpec& layer);

/// Whether what the layer makes of a sample in training depends on the samples beside it, as batch norm's means do.
bool mixes_samples(const LayerSpec& layer);

/// Shape after a step or a layer; throws usage_error if `in` does not fit (wrong channels, map too small).
Shape output_shape(const Step& step, Shape in);
Shape output_shape(const LayerSpec& layer, Shape in);

/// What one micro-batch costs: `per_sample` scales with its samples, `per_batch` does not. A split backward leaves to
/// its weight part the products that give weight gradients; all else, the gradients of norms included, is in its input
/// part.
struct LayerCost {
  Flops forward_per_sample;          ///< a multiply-add counts 2; elementwise operations 1 per element
  Flops backward_per_sample;         ///< input and weight gradients; without the input gradient of the first layer
  Flops backward_weight_per_sample;  ///< what of these is in the weight part
  Bytes moved_forward_per_sample;    ///< activations read and written
  Bytes moved_backward_per_sample;
  Bytes moved_backward_weight_per_sample;  ///< what of these is in the weight part
  Bytes moved_per_batch;   ///< thirds: weights read (forward), read (input part), gradients written (weight part)
  Bytes saved_per_sample;  ///< what autograd keeps from forward to backward, input included once
  Bytes saved_per_batch;   ///< batch-norm statistics and bf16 weight copies, independent of the samples
  Bytes saved_weight_per_sample;  ///< kept from input part to weight part: inputs and output gradients of products
  Bytes saved_weight_per_batch;   ///< likewise: gradients of norms
};

/// Cost of a layer for elements of `element_bytes` (4: fp32, 8: fp64, 2: bf16 activations under autocast).
/// `first`: the layer's input needs no gradient. Saved bytes count each storage once and leave parameters out; the
/// copies of weights that autocast makes do count. A test holds them to what autograd really saves.
LayerCost cost(const LayerSpec& layer, Shape in, int element_bytes, bool first = false);

/// Cost of consecutive layers. Saved bytes are less than the sum where a layer keeps its output, which is the
/// next one's input: one storage, also across a detached boundary of segments.
LayerCost cost(std::span<const LayerSpec> layers, Shape in, int element_bytes, bool first = false);

/// Canonical text of a layer on an input shape: the key under which its calibrated times are kept. Names of
/// tensors are left out, so equal blocks share their measurement.
std::string signature(const LayerSpec& layer, Shape in);

}  // namespace parabench
