// Computes segments: one autograd call forward, one backward.
#pragma once

#include <torch/types.h>

#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "models/spec/model.h"
#include "models/torch/layer.h"
#include "parallelism/exec/stage_state.h"

namespace parabench {

/// Type of activations between segments: bf16 under autocast, else the master type.
torch::ScalarType activation_type(Precision precision);
/// Memory format of images and activations.
at::MemoryFormat memory_format(Layout layout);

/// The graphs in flight of one rank. Not thread-safe: the compute thread's own.
class SegmentRunner {
 public:
  SegmentRunner(const Plan& plan, const ModelSpec& model, const StageState& state, Rank rank);

  /// Runs the segment of an F on `input` (taken as a fresh leaf; consumed). Keeps the graph, or where the F discards it
  /// the input alone. Returns the output, detached. With `labels`, the last segment's: their cross entropy, summed over
  /// samples and divided by the step's batch, so that gradients of unequal pieces add up to the mean's: that share of
  /// the loss, a scalar.
  torch::Tensor forward(const Op& op, torch::Tensor input, const torch::Tensor& labels);
  /// A forward that keeps its graph and leaves running statistics as they are, to try something out.
  torch::Tensor rehearse(const Op& op, torch::Tensor input, const torch::Tensor& labels);
  /// The same once more from the kept input, for its graph; running statistics stay as they are.
  void recompute(const Op& op, const torch::Tensor& labels);
  /// B, I: runs the backward of the kept graph and frees it. `gradient` is that of the output, undefined after a loss.
  /// Parameter gradients go to the leaves; those of an I wait for weight_gradients(). Returns the gradient of the
  /// input, undefined for the model's first segment.
  torch::Tensor backward(const Op& op, torch::Tensor gradient);
  /// W: computes what the I left open and frees what it kept.
  void weight_gradients(const Op& op);

 private:
  struct Graph {
    torch::Tensor input, output;
    std::unique_ptr<WeightGradients> deferred;  ///< of pieces whose backward is split
  };
  using Key = std::tuple<int, int, int>;  ///< segment, micro-batch, step
  static Key key(const Op& op) { return {op.segment.value, op.micro_batch.value, op.step.value}; }
  torch::Tensor run(const Op& op, const torch::Tensor& input, const torch::Tensor& labels,
                    const ForwardMode& mode) const;
  torch::Tensor keep_graph(const Op& op, torch::Tensor input, const torch::Tensor& labels, bool update_statistics);

  const Plan& plan_;
  const ModelSpec& model_;
  const StageState& state_;
  double batch_;
  std::set<Key> split_;                                       ///< pieces whose backward is I and W
  std::map<Key, Graph> graphs_;                               ///< from forward to B or I
  std::map<Key, std::unique_ptr<WeightGradients>> deferred_;  ///< from I to W
  std::map<Key, torch::Tensor> inputs_;                       ///< from a forward that discards to its recompute
};

}  // namespace parabench
