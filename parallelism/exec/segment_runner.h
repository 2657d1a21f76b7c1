// Computes segments: one autograd call forward, one backward.
#pragma once

#include <torch/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/spec/model.h"
#include "models/spec/skips.h"
#include "models/torch/layer.h"
#include "parallelism/exec/stage_state.h"
#include "parallelism/plan/skip_ports.h"

namespace parabench::exec {

/// Type of activations between segments: bf16 under autocast, else the master type.
torch::ScalarType activation_type(Precision precision);
/// Memory format of images and maps.
at::MemoryFormat memory_format(Layout layout);
/// The tensor in a run's layout, which concerns maps alone; itself where it lies so already.
torch::Tensor laid_out(const torch::Tensor& tensor, Layout layout);
/// Memory for so many samples of a tensor.
torch::Tensor empty_tensor(const TensorSpec& sample, int samples, Layout layout, const torch::TensorOptions& options);

/// A tensor or gradient that skips segments, on its way to another rank.
struct LeavingSkip {
  int port = 0;  ///< of the plan
  torch::Tensor tensor;
};

/// The graphs in flight of one rank. A skip from one of its segments to another stays here, forward and backward; what
/// goes to other ranks and comes from them is handed over.
/// Thread-safe for operations of which none needs what another makes.
class SegmentRunner {
 public:
  SegmentRunner(const plan::Plan& plan, const models::ModelSpec& model, const StageState& state, Rank rank);

  /// Runs the segment of an F on `input` (taken as a fresh leaf; consumed). Keeps the graph, or where the F discards it
  /// the input alone. Returns the output, detached. With `labels`, the last segment's: their cross entropy
  /// (models/torch/loss.h), summed over samples and divided by the step's batch, so that gradients of unequal pieces
  /// add up to the mean's: that share of the loss, a scalar.
  torch::Tensor forward(const plan::Op& op, torch::Tensor input, const torch::Tensor& labels);
  /// A forward of so many samples that keeps its graph and leaves running statistics as they are, to try something out.
  torch::Tensor rehearse(const plan::Op& op, int samples, torch::Tensor input, const torch::Tensor& labels);
  /// The same once more from the kept input, for its graph; running statistics stay as they are.
  void recompute(const plan::Op& op, const torch::Tensor& labels);
  /// B, I: runs the backward of the kept graph and frees it. `gradient` is that of the output, undefined after a loss.
  /// Parameter gradients go to the leaves; those of an I wait for weight_gradients(). Returns the gradient of the
  /// input, undefined for the model's first segment.
  torch::Tensor backward(const plan::Op& op, torch::Tensor gradient);
  /// W: computes what the I left open and frees what it kept.
  void weight_gradients(const plan::Op& op);

  /// Before a forward, before a backward: what came through a port for the operation's piece.
  void bring_skip(const plan::Op& op, int port, torch::Tensor value);
  void bring_skip_gradient(const plan::Op& op, int port, torch::Tensor gradient);
  /// After a forward the tensors, after a backward the gradients that skip to segments of other ranks.
  std::vector<LeavingSkip> take_leaving(const plan::Op& op);

 private:
  enum class Purpose { forward, rehearsal, recompute };
  struct Port {
    int tensor = 0;
    torch::Tensor value;
  };
  struct Graph {
    torch::Tensor input, output;
    std::vector<Port> taken, made;                       ///< skips of other segments: leaves, outputs
    std::unique_ptr<modules::WeightGradients> deferred;  ///< of pieces whose backward is split
  };
  using Key = std::tuple<SegmentId, MicroBatchId, StepId>;
  static Key key(const plan::Op& op) { return {op.segment, op.micro_batch, op.step}; }
  using SkipKey = std::tuple<int, ReplicaId, MicroBatchId, StepId>;  ///< first the tensor, as SkipPort names it
  SkipKey skip_key(int tensor, const plan::Op& op) const;
  /// A skip that takers on this rank still need.
  struct Held {
    torch::Tensor value;
    int takers = 0;
  };
  /// Where the tensors of a segment's ports go by name: names of one tensor stand together.
  struct Name {
    int tensor = 0;
    std::string port;
  };
  bool is_computed(SegmentId segment, const plan::Op& piece) const;
  int takers_here(int tensor, const plan::Op& op) const;
  torch::Tensor run(const plan::Op& op, const torch::Tensor& input, const torch::Tensor& labels, modules::Ports& ports,
                    const modules::ForwardMode& mode) const;
  torch::Tensor skip_value(int tensor, const plan::Op& op, const torch::Tensor& input) const;
  /// Takes a skip that a graph of its taker holds from now on out of those kept for this taker.
  void let_go(int tensor, const plan::Op& op);
  void add_gradient(const SkipKey& place, torch::Tensor gradient);
  /// Of one of the maps below, whose other entries may be put in and taken out at the same time.
  template <class Map>
  typename Map::mapped_type taken(Map& map, const typename Map::key_type& key);
  template <class Map>
  void keep(Map& map, const typename Map::key_type& key, typename Map::mapped_type value);
  void hand_out(const plan::Op& op, const modules::Ports& ports);
  void hand_back(const plan::Op& op, const Graph& graph);
  modules::DropoutDraws draws(const plan::Op& op) const;
  torch::Tensor keep_graph(const plan::Op& op, torch::Tensor input, const torch::Tensor& labels, Purpose purpose);

  const plan::Plan& plan_;
  const models::ModelSpec& model_;
  const StageState& state_;
  Rank rank_;
  std::set<Key> split_;                                                ///< pieces whose backward is I and W
  std::map<Key, Graph> graphs_;                                        ///< from forward to B or I
  std::map<Key, std::unique_ptr<modules::WeightGradients>> deferred_;  ///< from I to W
  std::map<Key, torch::Tensor> inputs_;  ///< from a forward that discards to its recompute
  std::vector<models::Skip> skips_;
  plan::PortsOfSegments ports_;
  std::vector<std::vector<Name>> entering_, leaving_;  ///< [segment] skips from and to other segments
  std::set<Key> computed_;                             ///< pieces whose forward runs here, where there are skips
  std::map<SkipKey, Held> skipping_;                   ///< from the maker's forward to the takers' graphs
  std::map<SkipKey, torch::Tensor> skip_gradients_;    ///< sums, from the takers' backwards to the maker's
  std::map<Key, std::vector<LeavingSkip>> leaving_now_;
  int rehearsed_samples_ = 0;
  mutable std::mutex mutex_;  ///< of the maps that passes put into and take out of
};

}  // namespace parabench::exec
