// What a rank stores of a model and where: slices of arenas, their copies, categories and bytes. The executor allocates
// by it, the memory model counts by it, planners and the gate look things up in it. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/measures.h"
#include "models/spec/model.h"
#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// Bytes of a parameter, of its gradient and of its optimizer's states: 8 for precision fp64, else 4 (bf16 computes
/// under autocast over fp32 masters).
int parameter_bytes(Precision precision);

/// Every tensor, and so every slice, starts at a multiple of so many bytes: a cache line.
inline constexpr std::int64_t slice_alignment_bytes = 64;

/// Elements [first, first + count) of an arena.
struct ElementRange {
  std::int64_t first = 0, count = 0;
  std::int64_t end() const { return first + count; }
  bool operator==(const ElementRange&) const = default;
};

/// A tensor as a matrix: by its first dimension and all others together.
struct TensorShape {
  std::int64_t rows = 0, columns = 0;
  bool is_copy = false;  ///< of a tensor that the model ties
  std::int64_t elements() const { return rows * columns; }
};

/// Elements that the parameters of layers take in an arena, each tensor rounded up to slice_alignment_bytes; both
/// layers of a tie have the tensor.
class ParameterSizes {
 public:
  explicit ParameterSizes(const models::ModelSpec& model);
  /// Of a run of layers, for elements of 4 or 8 bytes. O(1).
  std::int64_t elements(int first_layer, int layers, int element_bytes) const;
  std::int64_t elements(const Segment& segment, int element_bytes) const {
    return elements(segment.first_layer, segment.layers, element_bytes);
  }
  /// Those of the tensor that the model ties, 0 without.
  std::int64_t tied_elements(int element_bytes) const { return tied_[element_bytes == 8]; }
  /// Of a run of layers. O(1).
  int tensors(int first_layer, int layers) const { return tensors_[first_layer + layers] - tensors_[first_layer]; }
  /// Of a layer, in the order of its parameters.
  std::span<const TensorShape> tensors_of(int layer) const {
    return std::span(shapes_).subspan(tensors_[layer], tensors(layer, 1));
  }

 private:
  std::vector<TensorShape> shapes_;                  ///< of all tensors, layer by layer
  std::vector<int> tensors_;                         ///< prefix sums over layers
  std::array<std::vector<std::int64_t>, 2> before_;  ///< prefix sums over layers; elements of 4, of 8 bytes
  std::array<std::int64_t, 2> tied_{};
};

/// Of a tensor in what norms are made of: of its weights, of its gradients.
inline constexpr int sums_of_squares = 2;

enum class StateRole {
  weights,          ///< one per ring slot of weight versions; of the runs in its buffers where there is no room for all
  shares,           ///< the rank's shares of the weights, where whole ones come and go
  gradients,        ///< where they are reduced; elsewhere they are autograd's own tensors
  gradient_shares,  ///< the rank's shares of the sums so far, where micro-batches are summed one by one
  buckets,          ///< PyTorch's reducer has beside them, where it sums them
  errors,     ///< what compressed sums have left out of the rank's gradients, where that is added to the next ones
  encoded,    ///< what is sent in the place of gradients; of top-k by all members
  projected,  ///< what PowerSGD sends second, and starts from the next time
  optimizer,  ///< one per state that the optimizer keeps for each parameter
  outer,      ///< of an outer optimizer (Averaging): the weights of its last step, and what it remembers
  updates,    ///< how often each segment was updated, in fp32, where the optimizer counts
  norms,      ///< two sums of squares of each tensor, in fp64, where shares are updated by norms of whole tensors
};

/// One arena of a rank.
struct StateArena {
  StateRole role = StateRole::weights;
  MemoryCategory category = MemoryCategory::parameters;
  bool exchanged = false;  ///< lies in the communicator's memory: collectives move slices of it
  std::int64_t elements = 0, bytes = 0;
  bool operator==(const StateArena&) const = default;
};

/// What one rank stores. The slices lie in backward order, the last segment first, so that a bucket of neighbours is
/// contiguous; one copy of the parameters and each arena of weights or gradients has the same slices, but for those
/// with buffers that runs take by turns (buffers.h). A tied tensor that the rank shares between two segments lies in
/// the original's alone.
struct StateLayout {
  int element_bytes = 4;
  std::vector<SegmentId> segments;   ///< that the rank holds, ascending
  std::vector<ElementRange> slices;  ///< of each of them in one copy
  std::int64_t elements = 0;         ///< of one copy
  /// From a segment's place in a copy to its place in the arenas of weights, and of gradients.
  std::vector<std::int64_t> weight_shifts, gradient_shifts;
  /// The ranges of a copy that this rank updates, ascending: one whole copy, or its shards of the runs that are
  /// sharded. Shares and an arena of the optimizer hold these alone, one after the other. Of servers that share a stage
  /// they are all that a rank has: no arena of whole weights or gradients.
  std::vector<ElementRange> updated;
  /// Weights by slot, shares, then gradients, shares of them, then what compresses them, then the optimizer's, then the
  /// outer one's, then updates, then norms.
  std::vector<StateArena> arenas;

  std::int64_t copy_bytes() const { return elements * element_bytes; }
  /// Of a segment that the rank holds.
  const ElementRange& slice(SegmentId segment) const;
  /// Of `count` neighbouring segments, which the rank holds.
  ElementRange run(SegmentId first, int count) const;
  /// Where a part of a segment's slice lies in the arena of weights, and of gradients.
  ElementRange in_weights(SegmentId segment, ElementRange part) const;
  ElementRange in_gradients(SegmentId segment, ElementRange part) const;
  /// Bytes of all arenas of a role.
  std::int64_t bytes(StateRole role) const;
  /// Whether this rank updates all of a range of a copy.
  bool updates(const ElementRange& range) const;
  /// Where shares and an arena of the optimizer have what belongs to an element of a copy that this rank updates.
  std::int64_t state_of(std::int64_t element) const;
};

StateLayout state_layout(const Plan& plan, const ParameterSizes& sizes, Rank rank);

/// Elements that the parameters of a run of segments take in an arena of a rank that holds them, and how many tensors
/// they are; one that two segments of the rank share counts as the original's. O(1).
std::int64_t elements_of(const Plan& plan, const ParameterSizes& sizes, SegmentId first, int segments,
                         int element_bytes);
int tensors_of(const Plan& plan, const ParameterSizes& sizes, SegmentId first, int segments);

/// A trainable tensor in a copy of the parameters.
struct ParameterSlice {
  int layer = 0;      ///< of the model
  int parameter = 0;  ///< index into parameters(layer)
  models::ParameterSpec tensor;
  ElementRange range;  ///< without the padding behind it
};
/// The tensors that lie in a segment's slice, in registration order: all but the copy of a shared tie. The segment is
/// one that the layout holds.
std::vector<ParameterSlice> parameter_slices(const StateLayout& layout, const Plan& plan,
                                             const models::ModelSpec& model, SegmentId segment);

/// Which part of a run of segments a rank updates, or an operation works on.
struct Shard {
  int index = 0, count = 1;
};
/// The rank's place among those that share an update, or that of the server whom a worker sends to or receives from;
/// where nobody shares it, all of it.
Shard shard_of(const Plan& plan, Rank rank, const Op& op);

/// The part of its run that a message or a sum over a run moves: what the server shares of it, one of Plan::parts, or
/// the share that the rank's reduce-scatters of the stage leave there; of all others the whole. O(lanes).
Shard moved_part(const Plan& plan, Rank rank, const Op& op);

/// Shard `shard` of `shards` of a range: whole units of slice_alignment_bytes, as even as they come, so that shards of
/// a small range may be empty. All shards in order make up the range.
ElementRange shard_of(ElementRange range, int shard, int shards, int element_bytes);

/// Bytes that every rank asks its communicator for, by the roles whose arenas some rank exchanges: the largest of each.
std::map<StateRole, std::int64_t> exchanged_arenas(const Plan& plan, const models::ModelSpec& model);

/// The model's layers that a rank holds, ascending.
std::vector<int> layers_held(const Plan& plan, Rank rank);

}  // namespace parabench::plan
