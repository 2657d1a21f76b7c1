// A layer as data: a small graph of operations, and from it its tensors, parameters, FLOPs and bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/tensor_spec.h"
#include "models/spec/operation.h"
#include "models/spec/parameter.h"

namespace parabench::models {

/// Values of a layer: 0, 1, ... are its nodes' outputs, negative ones come from outside.
inline constexpr int layer_input = -1;
/// The `port`-th tensor that the layer takes from an earlier one.
constexpr int taken_value(int port) { return -2 - port; }

/// One operation with the name that prefixes its tensors, as torchvision names them ("layer1.0.conv1").
struct Node {
  std::string name;
  Operation operation;
  std::vector<int> inputs{layer_input};  ///< values
  bool operator==(const Node&) const = default;
};

/// A tensor that skips layers: made by one layer, taken by one later layer, under a name unique in the model.
struct TakenPort {
  std::string port;
  TensorSpec tensor;
  bool operator==(const TakenPort&) const = default;
};
struct MadePort {
  std::string port;
  int value = 0;
  bool operator==(const MadePort&) const = default;
};

/// The smallest unit a model is made of, and the finest place to cut it: nodes in the order in which they are computed,
/// each reading values before it; the last one's is the layer's output. A layer never writes into its input nor into
/// what it takes.
struct LayerSpec {
  std::string name;
  std::vector<Node> nodes{};
  std::vector<TakenPort> takes{};
  std::vector<MadePort> makes{};
  bool operator==(const LayerSpec&) const = default;
};

/// An operation in a row of them.
struct Step {
  std::string name;
  Operation operation;
};

/// Appends the steps, each reading the one before, the first `from`. Returns the last one's value: `from` without any.
int append(LayerSpec& layer, std::vector<Step> steps, int from);
/// Appends one operation that reads `inputs`, and returns its value.
int append(LayerSpec& layer, Step step, std::vector<int> inputs);
/// A layer of steps in a row.
LayerSpec chain(std::string name, std::vector<Step> steps);

/// Trainable parameters and floating-point buffers (running_mean, running_var of each batch norm) in the order of the
/// nodes, which is the order in which torch's modules register them.
std::vector<ParameterSpec> parameters(const LayerSpec& layer);
std::vector<ParameterSpec> buffers(const LayerSpec& layer);
std::int64_t parameter_count(const LayerSpec& layer);

/// Whether what the layer makes of a sample in training depends on the samples beside it, as batch norm's means do.
bool mixes_samples(const LayerSpec& layer);

/// Outputs of all nodes for a layer's input `in`; throws usage_error naming the operation that does not fit.
std::vector<TensorSpec> values(const LayerSpec& layer, const TensorSpec& in);
/// Of the last node.
TensorSpec output(const LayerSpec& layer, const TensorSpec& in);
/// The tensor of a value; `nodes`: values(layer, in).
const TensorSpec& value_of(const LayerSpec& layer, const TensorSpec& in, std::span<const TensorSpec> nodes, int value);

/// Nodes of the layer that read each node's value; the layer's output and each made port count as one more.
std::vector<int> readers(const LayerSpec& layer);
/// For each node the input, by its place in `inputs`, whose memory its output takes, written over; none: memory of its
/// own, or a view. An operation writes over a value that nothing else reads, that comes from inside of the layer, and
/// that the backward of its producer does not read.
inline constexpr int none_overwritten = -1;
std::vector<int> overwritten_inputs(const LayerSpec& layer);

/// Canonical text of a layer on an input: the key under which its calibrated times are kept. Names of tensors are left
/// out, so equal blocks share their measurement.
std::string signature(const LayerSpec& layer, const TensorSpec& in);

}  // namespace parabench::models
