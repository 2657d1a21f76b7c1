// Bytes that follow from a plan and its model alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/spec/layer_cost.h"
#include "models/spec/model.h"
#include "models/spec/skips.h"
#include "parallelism/plan/plan.h"
#include "parallelism/plan/state/state_layout.h"

namespace parabench::analytic {

/// Bytes of an activation's element; bf16: 2.
int activation_bytes(Precision precision);

/// Samples of the micro-batch that `op` works on or carries.
int samples_of(const plan::Plan& plan, Rank rank, const plan::Op& op);

/// Operations of a layer: the launches of its forward; its backward makes twice as many. A sum and its activation count
/// with the operation before them, a view not at all.
int operations(const models::LayerSpec& layer);

/// Answers about the segments of plans of one model. Pure. What follows from the model alone is worked out once, by the
/// constructor; copies share it.
class Sizes {
 public:
  Sizes(models::ModelSpec model);
  const models::ModelSpec& model() const;
  const plan::ParameterSizes& parameters() const;
  const TensorSpec& input(int layer) const;  ///< layer == layers: the model's output
  std::span<const models::LayerSpec> layers(const plan::Segment& segment) const;
  /// operations() of a layer.
  int operations(int layer) const;
  const std::string& signature(int layer) const;  ///< models::signature() of a layer on its input
  /// models::cost() of each layer by itself, for activations of this precision.
  std::span<const models::LayerCost> layer_costs(Precision precision) const;

  /// Bytes of one copy of the parameters of a run of segments, as they lie in arenas: without the copy of a tied tensor
  /// whose original lies on the same ranks. O(1).
  std::int64_t parameter_bytes(const plan::Plan& plan, SegmentId first, int segments) const;
  /// Bytes of the gradients that the passes of a segment make: of all its parameters.
  std::int64_t gradient_bytes(const plan::Plan& plan, SegmentId segment) const;
  /// Bytes of the tied tensor in an arena; 0 without.
  std::int64_t tied_bytes(Precision precision) const;
  /// The same without the padding behind it. Precondition: the model ties one.
  std::int64_t tied_tensor_bytes(Precision precision) const;
  std::int64_t parameter_bytes(Precision precision, int layer) const;
  /// Multiplications and additions of a step of a compressed sum: two for each element of a matrix that PowerSGD
  /// factors and each column; 0 for other operations.
  double compression_flops(const plan::Plan& plan, const plan::Op& step) const;
  /// Bytes of the parameters that an update of the rank writes: of its run, or of its shard of it; of those that an
  /// average, the sum of a server or a step of a compressed sum goes over. O(log ranks).
  std::int64_t updated_bytes(const plan::Plan& plan, Rank rank, const plan::Op& update) const;
  /// Bytes of the layer's largest parameter: what a backward that adds to gradients holds of its own at least.
  std::int64_t largest_parameter_bytes(Precision precision, int layer) const;
  /// Bytes of each parameter that lies in a segment.
  std::vector<std::int64_t> parameter_tensors(const plan::Plan& plan, SegmentId segment) const;
  /// Bytes of each output that the operations of a forward make, layer by layer; some work in place.
  std::vector<std::int64_t> made_tensors(const plan::Plan& plan, Rank rank, const plan::Op& op) const;
  /// Part of a backward's work that this pass is: 1 for B, by FLOPs for I and W.
  double backward_share(const plan::Plan& plan, const plan::Op& op) const;
  /// Bytes of what a message carries, or of the buffer that a collective works on.
  std::int64_t payload_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const;
  /// Bytes of a tensor that skips segments (SkipPort::tensor), of the piece that `op` works on.
  std::int64_t skip_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op, int tensor) const;
  /// Whether a tensor that segment `s` makes for others lies in memory of its own, or is the segment's input or output.
  enum class SkipMemory { own, input, output };
  SkipMemory skip_memory(const plan::Plan& plan, SegmentId s, int tensor) const;
  /// Bytes of skips within the segment that are held while a pass is at `layer`: made before it and taken after it; of
  /// a backward their gradients.
  std::int64_t waiting_skip_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op, int layer) const;
  /// Bytes per sample of the skips that a layer takes, and of those that it makes.
  std::int64_t taken_bytes(Precision precision, int layer) const;
  std::int64_t made_bytes(Precision precision, int layer) const;
  /// Formula for what a forward allocates and holds until its backward: output included; input not, except the
  /// images, unless they are there all the time (input:resident). Of the last segment the output is that of the loss's
  /// log-softmax, in the type of the weights.
  std::int64_t saved_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const;
  /// Bytes that an I keeps for its W: of all layers of its segment, and of one of them.
  std::int64_t kept_for_weights(const plan::Plan& plan, Rank rank, const plan::Op& op) const;
  std::int64_t kept_for_weights(const plan::Plan& plan, Rank rank, const plan::Op& op, int layer) const;
  /// Bytes of a piece of the batch as the first segment holds it, and of a segment's input and output.
  std::int64_t image_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const;
  std::int64_t image_bytes(Precision precision, int samples) const;
  /// Bytes of so many samples as they are loaded: images in fp32, tokens in int64.
  std::int64_t loaded_bytes(int samples) const;
  /// Bytes of the labels of so many samples.
  std::int64_t label_bytes(int samples) const;
  std::int64_t input_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const;
  std::int64_t output_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const;
  /// Formula for temporaries: a forward's largest map once, a backward's twice (both sides of an operation), with the
  /// gradients that it starts, or the largest that it adds.
  std::int64_t temporary_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const;

 private:
  struct Facts;
  models::LayerCost cost_of(const plan::Plan& plan, SegmentId segment) const;

  std::shared_ptr<const Facts> facts_;
};

}  // namespace parabench::analytic
