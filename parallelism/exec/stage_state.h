// What a rank holds of the model: the arenas of its state layout, and the tensors that view them.
#pragma once

#include <torch/types.h>

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "base/optimizer.h"
#include "models/spec/model.h"
#include "models/torch/layer.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"
#include "parallelism/plan/plan.h"
#include "parallelism/plan/state/state_layout.h"

namespace parabench::exec {

class BucketReducer;
class Compressor;

/// Type of parameters, gradients and states of the optimizer, of parameter_bytes().
torch::ScalarType master_type(Precision precision);

/// The weights of one rank, in the arenas of state_layout(). Each ring slot of weight versions has leaf tensors of its
/// own: a graph in flight keeps the version it was made with. All slots share the batch-norm buffers.
///
/// Where a run is updated in shards, this rank keeps the optimizer's states of its shard alone; the weights of the
/// others come by a collective on weights(). Where there is no room for all weights it keeps its shard of them, too,
/// and puts it into weights() before that collective; runs that take a buffer by turns lie at the same place. One of
/// several servers of a stage computes nothing: it has its shard of weights and gradients, and no more.
///
/// Gradients: a step starts without any. The first micro-batch's are taken over from autograd: kept as they
/// are, or, where they will be reduced, copied into the gradient arena. Later micro-batches add to them in
/// place. The update reads and drops them.
///
/// A tensor that two segments of the rank share (Plan::tie) has one leaf per slot, on which both backwards add up; it
/// is updated with the original's segment.
class StageState {
 public:
  /// Collective: arenas that are exchanged come from `comm`. Weights start from (seed, parameter name, element).
  StageState(const plan::Plan& plan, const models::ModelSpec& model, comm::Communicator& comm, Device& device);
  ~StageState();
  StageState(const StageState&) = delete;
  StageState& operator=(const StageState&) = delete;

  /// Layers of a segment with the tensors of weight version `version`.
  const std::vector<modules::LayerTensors>& tensors(SegmentId segment, VersionId version) const;
  /// To be called after the B or W that starts the gradients of `segment`, computed with weight version `version`.
  void take_gradients(SegmentId segment, VersionId version);
  /// Forgets what a backward of `segment` left that no step is to use.
  void drop_gradients(SegmentId segment);
  /// A part of the gradients of a run of segments, contiguous; for ranks that reduce.
  comm::BufferView gradients(SegmentId first, int segments, plan::Shard part = {}) const;
  /// The gradient of a tied tensor that another rank has, too; for ranks that have one of its two ends.
  comm::BufferView tied_gradients() const { return view_of(tied_gradients_); }
  /// The weights of a run of segments, or a part of them, at a version that the rank has, contiguous.
  comm::BufferView weights(SegmentId first, int segments, VersionId version, plan::Shard part = {}) const;
  /// That weights() of this version were, or are to be, written by another rank.
  void expect_weights(SegmentId first, int segments, VersionId version);
  /// Whether whole weights come and go, and so have to be brought before they are read.
  bool keeps_shares() const { return shares_.defined() && !has_share_alone(); }
  /// Puts the rank's shard of the run where the whole weights are to come, once the device has come to `ready`; as
  /// Device::copy().
  comm::DeviceEvent bring_share(SegmentId first, int segments, plan::Shard shard, void* ready);
  /// Who owns which part of either, where a run is sharded among so many.
  comm::Shares shares(SegmentId first, int segments, int shards) const;
  /// Writes weight version `version` from version - 1 and the gradients of the run, and drops these.
  void update(SegmentId first, int segments, VersionId version);
  /// Adds what a worker sent of the rank's share of a run, as gradients() lie, or starts the sum with it.
  void add_gradients(SegmentId first, int segments, plan::Shard shard, const torch::Tensor& sent, bool accumulates);
  /// Adds the rank's share of what a micro-batch's gradients of the run were summed to, or starts with it, and drops
  /// these.
  void add_share(SegmentId first, int segments, plan::Shard shard, bool accumulates);
  /// What compresses the sums of gradients; nullptr where they are summed whole.
  Compressor* compressor() const { return compressor_.get(); }
  /// For gradients of the rank's share of a run that a worker sends; undefined values.
  torch::Tensor room_for_gradients(SegmentId first, int segments, plan::Shard shard) const;
  /// Makes the next weights of a run, by Plan::averaging, of the sum that weights() hold over so many members.
  void average(SegmentId first, int segments, int members);
  /// Adds up what a shard of the run has of the squares of its tensors' weights and of their gradients.
  void measure_norms(SegmentId first, int segments, plan::Shard shard);
  /// What measure_norms() came to, contiguous, for all tensors of the run; to be summed over the shards.
  comm::BufferView norms(SegmentId first, int segments) const;
  /// The same as update() of a shard of the run, by the sums in norms() where the rule reads norms.
  void update_shard(SegmentId first, int segments, VersionId version, plan::Shard shard);

  /// Copies of the latest parameters and of the buffers as fp64, in the order of layers_held(); zeros for what other
  /// servers of the stage have. `bring` is called with every segment in turn, ascending, before its weights are read.
  struct Snapshot {
    std::vector<std::vector<torch::Tensor>> parameters, buffers;  ///< [held layer][tensor]
  };
  Snapshot snapshot(const std::function<void(SegmentId)>& bring = [](SegmentId) {}) const;

  /// Of the parameters, where their gradients are summed in its buckets; made by whoever trains by it first.
  std::shared_ptr<BucketReducer> reducer;

 private:
  struct Parameter {
    std::vector<torch::Tensor> leaves;    ///< [slot]
    std::array<torch::Tensor, 2> states;  ///< of the optimizer; undefined where it keeps none
    torch::Tensor reduced;                ///< view of the gradient arena; undefined where nothing is reduced
    plan::ElementRange range;             ///< in a copy
    torch::Tensor gradient;               ///< from the step's first backward until the update
  };
  int local(SegmentId segment) const { return local_[segment.value]; }
  /// The parameters that passes of a segment read.
  template <class Visit>
  void for_each_parameter(SegmentId segment, Visit visit);
  /// A tensor's part of a shard, and its place in norms_.
  struct Part {
    plan::ElementRange range;
    std::int64_t tensor = 0;
  };
  /// The places of a run's tensors in norms_.
  plan::ElementRange tensors_of(SegmentId first, int segments) const;
  /// The parts of the tensors of a run that lie in a range, ascending.
  std::vector<Part> parts(SegmentId first, int segments, const plan::ElementRange& range) const;
  /// A part of a copy that the rank updates, of a run: its weights, and its gradients once they are summed.
  torch::Tensor own_weights(SegmentId first, const plan::ElementRange& part) const;
  torch::Tensor summed_gradients(SegmentId first, const plan::ElementRange& part) const;
  /// The same in the arena that collectives sum in.
  torch::Tensor exchanged_gradients(SegmentId first, const plan::ElementRange& part) const;
  void drop_gradients_of_run(SegmentId first, int segments);
  /// Whether the rank has no other weights than those that it updates.
  bool has_share_alone() const { return weights_.front().is_meta(); }
  /// Keeps what the rank updates of a range of a copy, which has these values.
  void keep_share(const plan::ElementRange& range, const torch::Tensor& values);
  /// A copy of the weights with the rank's share of them, and zeros for the others.
  torch::Tensor spread_share() const;
  /// Of a part of an arena.
  comm::BufferView view_of(const torch::Tensor& part) const;

  OptimizerRule rule_;
  Device& device_;
  plan::StateLayout layout_;
  std::vector<int> local_;  ///< by segment of the plan: its place below, ascending; -1 where not held
  torch::ScalarType type_;
  std::vector<torch::Tensor> weights_;  ///< flat, [slot]; of a rank with a share alone shapes without memory
  std::vector<torch::Tensor> states_;   ///< flat, of the optimizer
  plan::Averaging averaging_;
  std::vector<torch::Tensor> outer_;  ///< flat: a and v of it; empty without
  torch::Tensor shares_;              ///< flat; undefined where all weights stay
  torch::Tensor gradients_;           ///< flat; undefined without reductions
  torch::Tensor gradient_shares_;     ///< flat; undefined where steps sum once
  std::unique_ptr<Compressor> compressor_;
  torch::Tensor tied_gradients_;                                        ///< part of them; undefined without such a sum
  std::vector<std::vector<Parameter>> parameters_;                      ///< [local]
  int shared_copy_ = -1, shared_original_ = -1;                         ///< local; -1 where segments share nothing
  std::size_t shared_parameter_ = 0;                                    ///< of the original's
  std::vector<std::vector<std::vector<modules::LayerTensors>>> slots_;  ///< [slot][local][layer]
  std::vector<VersionId> newest_;                                       ///< [local] latest version written
  torch::Tensor norms_;                                                 ///< [tensor][2]; undefined if not needed
  std::vector<std::int64_t> first_tensor_;  ///< [local] place in norms_, which has slices' order
  torch::Tensor updates_;                   ///< [local] how often updated; undefined if not counted
};

}  // namespace parabench::exec
