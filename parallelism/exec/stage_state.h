// What a rank holds of the model: arenas of parameters, gradients and momentum, and the tensors that view them.
#pragma once

#include <torch/types.h>

#include <vector>

#include "models/spec/model.h"
#include "models/torch/layer.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/exec/memory.h"
#include "parallelism/plan/plan.h"

namespace parabench {

/// Type of parameters, gradients and momentum: fp64 for precision fp64, else fp32 (bf16 computes under autocast over fp32 masters).
torch::ScalarType master_type(Precision precision);

/// Bytes of one arena (all parameters of the rank's stage, every tensor aligned to 64 bytes).
std::int64_t arena_bytes(const Plan& plan, const ModelSpec& model, Rank rank);

/// The weights of one rank. Segments lie in the arenas in backward order (last segment first), so that a bucket of neighbours is
/// contiguous. Weights have plan.ranks[rank].weight_versions ring slots, each with leaf tensors of its own: a graph in flight keeps
/// the version it was made with. All slots share the gradient arena and the batch-norm buffers.
class StageState {
 public:
  /// Collective: the gradient arena comes from `comm`. Weights start from (seed, parameter name, element).
  StageState(const Plan& plan, const ModelSpec& model, Communicator& comm, MemoryAccount& account);
  ~StageState();
  StageState(const StageState&) = delete;
  StageState& operator=(const StageState&) = delete;

  /// Layers of a segment with the tensors of weight version `version`.
  const std::vector<LayerTensors>& tensors(SegmentId segment, int version) const;
  /// The gradients of a run of segments, contiguous.
  BufferView gradients(SegmentId first, int segments) const;
  /// Writes weight version `version` from version - 1 and the gradients of the run, which it zeroes.
  void update(SegmentId first, int segments, int version);

  /// Copies of the parameters and buffers of a version as fp64, layer by layer in the stage's order.
  struct Snapshot {
    std::vector<std::vector<torch::Tensor>> parameters, buffers;  ///< [layer of the stage][tensor]
  };
  Snapshot snapshot(int version) const;

 private:
  struct Slice {
    std::int64_t offset = 0, elements = 0;  ///< in elements of the master type
  };
  Slice run(SegmentId first, int segments) const;

  Case spec_;
  MemoryAccount& account_;
  SegmentRange range_;
  torch::ScalarType type_;
  std::int64_t elements_ = 0;
  std::vector<Slice> slices_;                                  ///< by segment - range_.first
  std::vector<torch::Tensor> weights_;                         ///< [slot], flat
  torch::Tensor gradients_, velocity_;                         ///< flat; velocity undefined without momentum
  std::vector<std::vector<std::vector<LayerTensors>>> slots_;  ///< [slot][segment][layer]
};

}  // namespace parabench
