// What a rank holds of the model: the arenas of its state layout, and the tensors that view them.
#pragma once

#include <torch/types.h>

#include <array>
#include <vector>

#include "base/optimizer.h"
#include "models/spec/model.h"
#include "models/torch/layer.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"
#include "parallelism/plan/plan.h"
#include "parallelism/plan/state/state_layout.h"

namespace parabench {

/// Type of parameters, gradients and states of the optimizer, of parameter_bytes().
torch::ScalarType master_type(Precision precision);

/// The weights of one rank, in the arenas of state_layout(). Each ring slot of weight versions has leaf tensors of its
/// own: a graph in flight keeps the version it was made with. All slots share the batch-norm buffers.
///
/// Gradients: a step starts without any. The first micro-batch's are taken over from autograd: kept as they
/// are, or, where they will be reduced, copied into the gradient arena. Later micro-batches add to them in
/// place. The update reads and drops them.
///
/// A tensor that two segments of the rank share (Plan::tie) has one leaf per slot, on which both backwards add up; it is
/// updated with the original's segment.
class StageState {
 public:
  /// Collective: the gradient arena comes from `comm`. Weights start from (seed, parameter name, element).
  StageState(const Plan& plan, const ModelSpec& model, Communicator& comm, Device& device);
  ~StageState();
  StageState(const StageState&) = delete;
  StageState& operator=(const StageState&) = delete;

  /// Layers of a segment with the tensors of weight version `version`.
  const std::vector<LayerTensors>& tensors(SegmentId segment, int version) const;
  /// To be called after the B or W that starts the gradients of `segment`, computed with weight version `version`.
  void take_gradients(SegmentId segment, int version);
  /// Forgets what a backward of `segment` left that no step is to use.
  void drop_gradients(SegmentId segment);
  /// The gradients of a run of segments, contiguous; for ranks that reduce.
  BufferView gradients(SegmentId first, int segments) const;
  /// The gradient of a tied tensor that another rank has, too; for ranks that have one of its two ends.
  BufferView tied_gradients() const { return view_of(tied_gradients_); }
  /// Writes weight version `version` from version - 1 and the gradients of the run, and drops these.
  void update(SegmentId first, int segments, int version);

  /// Copies of the latest parameters and of the buffers as fp64, in the order of layers_held().
  struct Snapshot {
    std::vector<std::vector<torch::Tensor>> parameters, buffers;  ///< [held layer][tensor]
  };
  Snapshot snapshot() const;

 private:
  struct Parameter {
    std::vector<torch::Tensor> leaves;    ///< [slot]
    std::array<torch::Tensor, 2> states;  ///< of the optimizer; undefined where it keeps none
    torch::Tensor reduced;                ///< view of the gradient arena; undefined where nothing is reduced
    torch::Tensor gradient;               ///< from the step's first backward until the update
  };
  int local(SegmentId segment) const { return local_[segment.value]; }
  /// The parameters that passes of a segment read.
  template <class Visit>
  void for_each_parameter(SegmentId segment, Visit visit);
  /// Of a part of the gradient arena.
  BufferView view_of(const torch::Tensor& gradients) const;

  OptimizerRule rule_;
  Device& device_;
  StateLayout layout_;
  std::vector<int> local_;  ///< by segment of the plan: its place below, ascending; -1 where not held
  torch::ScalarType type_;
  torch::Tensor gradients_;                                    ///< flat; undefined without reductions
  torch::Tensor tied_gradients_;                               ///< part of them; undefined without such a sum
  std::vector<std::vector<Parameter>> parameters_;             ///< [local]
  int shared_copy_ = -1, shared_original_ = -1;                ///< local; -1 where segments share nothing
  std::size_t shared_parameter_ = 0;                           ///< of the original's
  std::vector<std::vector<std::vector<LayerTensors>>> slots_;  ///< [slot][local][layer]
  std::vector<int> newest_;                                    ///< [local] latest version written
  torch::Tensor updates_;                                      ///< [local] how often updated; undefined if not counted
};

}  // namespace parabench
