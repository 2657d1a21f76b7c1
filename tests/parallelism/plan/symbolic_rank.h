// One rank of a symbolic run: numbers stand for activations, gradients and weights, and say what they were made from.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/parallelism/plan/meaning.h"

namespace parabench::plan {

/// Thrown by what cannot be carried out.
struct Impossible {};
void require(bool holds);

class SymbolicRank {
 public:
  using Value = std::uint64_t;
  /// What a message carries; of the gradient of a skip with the layers whose gradients are in it.
  struct Carried {
    Value value = 0;
    std::set<int> takers;
  };

  /// `skips`: the model's. `trained`: the weights that all ranks have come to, of whom each adds its own.
  SymbolicRank(const Plan& plan, const std::vector<LayerSkip>& skips, Rank rank, Meaning& trained);

  /// Carries out a pass or an update, unless something that it needs is still to come.
  bool try_compute(const Op& op);
  /// What a send carries; nothing while it is to come.
  std::optional<Carried> payload(const Op& send) const;
  void take(const Op& receive, const Carried& payload);

  /// Whether the run of a reduction or update has all its weight gradients.
  bool gradients_are_complete(const Op& op) const;
  /// Their sums over the micro-batches, by layer, for one segment of the run.
  const std::vector<Value>& sums(const Op& op, int segment) const {
    if (is_of_piece(op, segment)) return pieces_.at({segment, op.step.value, op.micro_batch.value}).sums;
    return sums_.at({segment, update_of(op)});
  }
  void replace_sums(const Op& reduction, int segment, std::vector<Value> total);
  /// Notes a part of a sum; whether it was the last one.
  bool completes(const Op& sum);
  /// The reduce-scatter that left the rank a share of the run of a sum of shares, where there was one.
  std::optional<Op> scattered(const Op& sum) const;
  void replace_share_sums(const Op& sum, int segment, std::vector<Value> total);

  /// Whether what stands for the gradients of a run is made, first or second; that a collective has brought
  /// everybody's, and, where there is none after it, the sums.
  bool is_encoded(const Op& sum) const;
  void take_encoded(const Op& sum, int segment, std::vector<Value> total);
  bool is_projected(const Op& sum) const;
  void take_projected(const Op& sum);
  /// Whether the rank has measured the norms of a run, and that all of its members have.
  bool norms_are_measured(const Op& sum) const;
  void take_norms(const Op& sum);

  /// Whether the rank has updated its share of a run of which the operation gathers the others.
  bool share_is_written(const Op& all_gather) const;
  void complete_shares(const Op& all_gather);
  /// Where weights are averaged: whether the rank's own update has written those of a run, and that their sum over the
  /// members has come.
  bool weights_are_written(const Op& all_reduce) const;
  void take_weight_sum(const Op& all_reduce);
  /// Of a server: takes what a worker has sent of a segment; whether a run's weights of that version are written. Of a
  /// worker: takes such weights, once no pass is still to read those in whose place they come. Ends of what each sends.
  void take_push(const Op& receive, int segment, std::vector<Value> sums);
  bool has_written(const Op& send) const;
  bool try_pull(const Op& receive);
  void end_push(const Op& send);
  void end_pull(const Op& send);
  /// With room for some weights: whether what lies where those of a run are to come has been read, and that they came.
  bool has_room_for(const Op& all_gather) const;
  void take_weights(const Op& all_gather);

  bool is_left_with_nothing() const {
    return in_flight_ == 0 && open_weight_gradients_.empty() && weight_sums_.empty() && pushed_.empty() &&
           pieces_.empty() && (shares_.empty() || plan_.room.weights > 0);
  }

 private:
  /// Segment, step, micro-batch.
  using Piece = std::tuple<int, int, int>;
  static Piece piece_of(const Op& op, int segment) { return {segment, op.step.value, op.micro_batch.value}; }
  static Piece piece_of(const Op& op) { return piece_of(op, op.segment.value); }
  using Values = std::map<Piece, Value>;
  /// Values per layer of a segment: what goes through it, with the weights that it met.
  struct Graph {
    std::vector<Value> inputs, weights;
    std::vector<Value> taken;  ///< of each layer the sum of the skips that it takes
  };
  /// Replica, tensor, step, micro-batch.
  using SkipPiece = std::tuple<int, int, int, int>;
  SkipPiece skip_of(const Op& op, int tensor) const {
    return {replica_of(plan_, rank_, op.segment).value, tensor, op.step.value, op.micro_batch.value};
  }
  int tensor_of(const Op& message) const;
  void add_skip_gradient(const SkipPiece& piece, const Carried& part);
  bool skips_have_come(const Op& op) const;
  bool skip_gradients_have_come(const Op& op) const;
  Value taken(const Op& op, int layer) const;
  Value returned(const Op& op, int layer) const;
  using SegmentUpdate = std::pair<int, int>;

  int update_of(const Op& op) const;
  Value samples(const Op& op) const;
  std::optional<Value> incoming(const Op& op, SegmentId neighbour, const Values& made, const Values& received) const;
  Value weights(const Op& op, int layer) const;
  bool has_version_of_graph(const Op& op) const;
  bool try_pass(const Op& op);
  bool try_forward(const Op& op);
  bool try_input_gradient(const Op& op);
  void add_weight_gradient(const Op& op);
  bool try_norms(const Op& op);
  bool try_update(const Op& op);
  bool try_average(const Op& op);
  bool try_compression(const Op& op);
  bool try_add(const Op& op);
  bool try_add_first_come(const Op& op);
  /// Whether a segment's sum is whole: where some of its holders share it, summed between such groups as well.
  bool is_summed(int segment, int update) const;
  /// Whether an operation is of what one micro-batch made of a segment's gradients.
  bool is_of_piece(const Op& op, int segment) const {
    return plan_.scatters_pieces && (op.kind == OpKind::reduce_scatter || op.kind == OpKind::add) &&
           holders(plan_, plan_.segments[segment].stage).size() > 1;
  }
  bool try_add_share(const Op& op);
  /// Whether holders of the segment's stage update each for itself, and whether what this rank wrote last is still to
  /// be averaged.
  bool is_apart(int segment) const;
  /// Whether a server has sent a version, and those before, to all that it sends them to.
  bool is_sent(int segment, int version) const;
  /// Whether the rank is a server of the segment's stage.
  bool serves(int segment) const;
  void require_share(const Op& op, const Op& like) const;
  /// Whether every server of the plan's stage has sent its share of a version.
  bool is_pulled_of_all(int segment, int version) const;
  bool is_being_averaged(int segment) const;
  void track(const Op& op, int change);
  /// Whether the weights that a pass reads are whole here.
  bool weights_are_here(const Op& pass) const;
  /// Which of those buffers, by turns in backward order, has the run of a segment.
  int buffer_of(SegmentId segment, int room) const;

  const Plan& plan_;
  const std::vector<LayerSkip>& skips_;
  Rank rank_;
  Meaning& trained_;
  Values activations_, gradients_;  ///< made here
  Values received_activations_, received_gradients_;
  std::map<SkipPiece, Value> skip_values_;                     ///< made here or received
  std::map<SkipPiece, Carried> skip_gradients_;                ///< sums of those made here or received
  std::map<Piece, Graph> graphs_;                              ///< of forwards
  std::map<Piece, std::vector<Value>> open_weight_gradients_;  ///< left by an I, by layer
  std::set<Piece> discarded_, recomputed_;
  std::set<std::pair<OpKind, Piece>> done_;
  std::map<SegmentUpdate, std::vector<Value>> sums_;  ///< by layer
  std::map<SegmentUpdate, int> open_passes_;          ///< weight gradients to come
  std::map<SegmentUpdate, Op> reduced_;               ///< by which collective
  std::map<SegmentUpdate, Op> norms_;                 ///< of the rank's share
  /// Of a micro-batch's gradients of a segment.
  struct PieceSum {
    std::vector<Value> sums;  ///< by layer
    std::optional<Op> scattered;
  };
  std::map<Piece, PieceSum> pieces_;  ///< that wait for the addition of their shares
  std::map<SegmentUpdate, int> added_pieces_;
  std::map<SegmentUpdate, std::set<int>> parts_;  ///< of the run from the segment on: those that came
  std::set<SegmentUpdate> summed_shares_;         ///< between groups that share their runs
  /// Steps of compressed sums, by kind, and their collectives, by payload.
  std::map<std::pair<OpKind, SegmentUpdate>, Op> steps_;
  std::map<std::pair<Payload, SegmentUpdate>, Op> brought_;
  std::set<SegmentUpdate> summed_norms_;      ///< of whole tensors
  std::map<std::pair<int, int>, Value> own_;  ///< [layer, version] written by this rank for itself
  std::map<SegmentUpdate, Op> weight_sums_;   ///< by version: those still to be averaged
  std::map<std::tuple<int, int, int>, std::vector<Value>> pushed_;  ///< segment, step, worker: sums still to be added
  std::map<SegmentUpdate, std::set<int>> added_;                    ///< workers whose gradients are in a server's sum
  std::map<std::pair<int, int>, int> added_places_;                 ///< segment, step: of those that came first
  std::map<SegmentUpdate, int> workers_of_;                         ///< how many these are to be
  std::map<std::pair<int, int>, int> unsent_;                       ///< segment, version: what a server is to send
  std::map<std::pair<int, int>, int> unpushed_, unpulled_;          ///< segment, step or version: to servers, of them
  std::set<std::tuple<int, int, int>> pulled_;                      ///< segment, version, server
  std::map<SegmentUpdate, Op> added_as_, wrote_;  ///< a server's first addition; by version its update
  std::map<int, std::map<int, int>> readers_;     ///< [segment][version] passes to come
  std::map<int, int> averaged_;                   ///< segment -> latest version that is an average
  std::map<int, int> gradient_of_;                ///< segment -> update whose gradient is open
  std::map<int, Op> shares_;                      ///< segment -> the update of a share that is still to be gathered
  std::vector<int> latest_;                       ///< version of each segment
  int in_flight_ = 0;
  /// What a gather brought into a buffer for weights.
  struct Whole {
    Op gather;
    bool for_forwards = false, for_backwards = false;
    int readers = 0;  ///< passes that are still to read it
  };
  std::map<int, Whole> whole_;                  ///< by buffer
  std::map<std::pair<int, int>, int> gathers_;  ///< first segment of a run, step -> how many are still to come
  std::set<std::pair<int, int>> gathered_;      ///< of which there was one
  std::set<int, std::greater<>> runs_;          ///< first segments of the runs that the rank shares
  std::map<int, int> gradient_room_;            ///< by buffer: first segment of the run whose gradients it has
};

}  // namespace parabench::plan
