// Computes segments: one autograd call forward, one backward.
#pragma once

#include <torch/types.h>

#include <map>
#include <tuple>

#include "models/spec/model.h"
#include "parallelism/exec/stage_state.h"

namespace parabench {

/// Type of activations between segments: bf16 under autocast, else the master type.
torch::ScalarType activation_type(Precision precision);
/// Memory format of images and activations.
at::MemoryFormat memory_format(Layout layout);

/// The graphs in flight of one rank. Not thread-safe: the compute thread's own.
class SegmentRunner {
 public:
  SegmentRunner(const Plan& plan, const ModelSpec& model, const StageState& state);

  /// Runs the segment of `op` on `input` (taken as a fresh leaf; consumed) and keeps its graph. Returns the
  /// output, detached.
  torch::Tensor forward(const Op& op, torch::Tensor input);
  /// Same for the last segment: adds the cross entropy of `labels`, summed over samples and divided by the
  /// step's batch, so that gradients of unequal pieces add up to the mean's. Returns that share of the loss, a scalar.
  torch::Tensor forward_with_loss(const Op& op, torch::Tensor input, const torch::Tensor& labels);
  /// Runs the backward of the kept graph and frees it; parameter gradients go to the leaves. `gradient` is that
  /// of the output, undefined after forward_with_loss. Returns the gradient of the input, undefined for the
  /// model's first segment.
  torch::Tensor backward(const Op& op, torch::Tensor gradient);

 private:
  struct Graph {
    torch::Tensor input, output;
  };
  using Key = std::tuple<int, int, int>;  ///< segment, micro-batch, step
  static Key key(const Op& op) { return {op.segment.value, op.micro_batch.value, op.step}; }
  Graph trace(const Op& op, torch::Tensor input) const;

  const Plan& plan_;
  const ModelSpec& model_;
  const StageState& state_;
  double batch_;
  std::map<Key, Graph> graphs_;
};

}  // namespace parabench
