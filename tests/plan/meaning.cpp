#include "tests/plan/meaning.h"

#include <initializer_list>
#include <set>
#include <tuple>
#include <vector>

namespace parabench {
namespace {

using Value = std::uint64_t;

Value mix(std::initializer_list<Value> parts) {
  Value hash = 0x9e3779b97f4a7c15ULL;
  for (Value part : parts) hash = (hash ^ part) * 0xbf58476d1ce4e5b9ULL ^ (hash >> 29);
  return hash;
}

constexpr Value activation_tag = 1, loss_tag = 2, gradient_tag = 3, weight_gradient_tag = 4, initial_tag = 5;

struct Impossible {};
void require(bool holds) {
  if (!holds) throw Impossible{};
}

/// Segment, step, micro-batch.
using Piece = std::tuple<int, int, int>;
Piece piece_of(const Op& op, int segment) { return {segment, op.step, op.micro_batch.value}; }
Piece piece_of(const Op& op) { return piece_of(op, op.segment.value); }

/// Values per layer of a segment: what goes through it, with the weights that it met.
struct Graph {
  std::vector<Value> inputs, weights;
};

struct RankState {
  std::map<Piece, Value> activations, gradients;  ///< made here
  std::map<Piece, Value> received_activations, received_gradients;
  std::map<Piece, Graph> graphs;                              ///< of forwards
  std::map<Piece, std::vector<Value>> open_weight_gradients;  ///< left by an I, by layer
  std::set<Piece> discarded, recomputed;
  std::set<std::pair<OpKind, Piece>> done;
  std::map<std::pair<int, int>, std::vector<Value>> sums;  ///< [segment, update] by layer
  std::map<std::pair<int, int>, int> open_passes;          ///< [segment, update] weight gradients to come
  std::map<std::pair<int, int>, bool> reduced;
  std::map<int, int> gradient_of;  ///< segment -> update whose gradient is open
  std::map<int, int> latest;       ///< segment -> version
  int in_flight = 0;
};

class SymbolicRun {
 public:
  explicit SymbolicRun(const Plan& plan) : plan_(plan), states_(plan.ranks.size()) {
    for (int r = 0; r < std::ssize(plan.ranks); ++r) {
      next_.emplace_back(plan.ranks[r].lanes.size(), 0);
      for (const Op& op : plan.ranks[r].compute()) {
        if (makes_weight_gradient(op.kind)) ++states_[r].open_passes[{op.segment.value, update_of(op)}];
      }
    }
  }

  Meaning run() {
    require(batch_samples(plan_) == plan_.spec.batch);
    for (bool progress = true; progress;) {
      progress = false;
      for (int r = 0; r < std::ssize(plan_.ranks); ++r) {
        for (int l = 0; l < std::ssize(plan_.ranks[r].lanes); ++l) {
          while (try_next(r, l)) progress = true;
        }
      }
    }
    for (int r = 0; r < std::ssize(plan_.ranks); ++r) {
      for (int l = 0; l < std::ssize(plan_.ranks[r].lanes); ++l) require(is_done(r, l));
      require(states_[r].in_flight == 0 && states_[r].open_weight_gradients.empty());
    }
    return result_;
  }

 private:
  const Op& head(int r, int l) const { return plan_.ranks[r].lanes[l].ops[next_[r][l]]; }
  bool is_done(int r, int l) const { return next_[r][l] == std::ssize(plan_.ranks[r].lanes[l].ops); }
  int update_of(const Op& op) const {
    return op.step / plan_.versions[stage_of(plan_, op.segment).value].steps_per_update + 1;
  }
  std::pair<int, int> layers(int segment) const {
    const Segment& s = plan_.segments[segment];
    return {s.first_layer, s.first_layer + s.layers};
  }

  bool try_next(int r, int l) {
    if (is_done(r, l)) return false;
    const Op& op = head(r, l);
    const LaneKind kind = plan_.ranks[r].lanes[l].kind;
    if (kind == LaneKind::compute) {
      if (op.kind == OpKind::update ? !try_update(r, op) : !try_pass(r, op)) return false;
      ++next_[r][l];
      return true;
    }
    if (kind == LaneKind::collectives) return try_reduce(r, l, op);
    return is_send(op.kind) && try_send(r, l, op);
  }

  Value data(int r, const Op& op) const {
    const int replica = replica_of(plan_, Rank(r), op.segment);
    return mix({static_cast<Value>(op.step), static_cast<Value>(piece_offset(plan_, replica, op.micro_batch)),
                static_cast<Value>(plan_.pieces[replica][op.micro_batch.value]),
                static_cast<Value>(batch_samples(plan_))});
  }

  /// Made by the neighbouring segment: here for the same piece, or received.
  std::optional<Value> incoming(int r, const Op& op, int neighbour, std::map<Piece, Value> RankState::*made,
                                std::map<Piece, Value> RankState::*received) const {
    const RankState& state = states_[r];
    const bool same_piece = replica_of(plan_, Rank(r), SegmentId(neighbour)) == replica_of(plan_, Rank(r), op.segment);
    if (same_piece && (state.*made).contains(piece_of(op, neighbour))) {
      return (state.*made).at(piece_of(op, neighbour));
    }
    const auto found = (state.*received).find(piece_of(op));
    return found == (state.*received).end() ? std::nullopt : std::optional(found->second);
  }

  Value weights(int r, const Op& op, int layer) {
    const int latest = states_[r].latest[op.segment.value];
    require(op.version >= 0 && op.version <= latest && op.version > latest - plan_.ranks[r].weight_versions);
    return op.version == 0 ? mix({initial_tag, static_cast<Value>(layer)}) : result_.at({layer, op.version});
  }

  bool try_pass(int r, const Op& op) {
    RankState& state = states_[r];
    require(replica_of(plan_, Rank(r), op.segment) >= 0);
    const Piece piece = piece_of(op);
    switch (op.kind) {
      case OpKind::forward: {
        const auto input = op.segment.value == 0 ? std::optional(data(r, op))
                                                 : incoming(r, op, op.segment.value - 1, &RankState::activations,
                                                            &RankState::received_activations);
        if (!input) return false;
        Graph graph;
        Value value = *input;
        const auto [first, end] = layers(op.segment.value);
        for (int layer = first; layer < end; ++layer) {
          graph.inputs.push_back(value);
          graph.weights.push_back(weights(r, op, layer));
          value = mix({activation_tag, value, graph.weights.back()});
        }
        state.activations[piece] = value;
        state.graphs[piece] = std::move(graph);
        if (op.discards) state.discarded.insert(piece);
        track(r, op, +1);
        break;
      }
      case OpKind::recompute:
        require(state.discarded.contains(piece) && version_of_graph_is(r, op));
        state.recomputed.insert(piece);
        break;
      case OpKind::backward:
      case OpKind::backward_input:
        if (!try_input_gradient(r, op)) return false;
        break;
      case OpKind::backward_weight: require(state.open_weight_gradients.contains(piece)); break;
      case OpKind::send_forward:
      case OpKind::recv_forward:
      case OpKind::send_backward:
      case OpKind::recv_backward:
      case OpKind::all_reduce:
      case OpKind::update: throw Impossible{};
    }
    require(state.done.insert({op.kind, piece}).second);
    if (makes_weight_gradient(op.kind)) add_weight_gradient(r, op);
    return true;
  }

  bool version_of_graph_is(int r, const Op& op) {
    const Graph& graph = states_[r].graphs.at(piece_of(op));
    return graph.weights.front() == weights(r, op, layers(op.segment.value).first);
  }

  bool try_input_gradient(int r, const Op& op) {
    RankState& state = states_[r];
    const Piece piece = piece_of(op);
    require(state.graphs.contains(piece) && (!state.discarded.contains(piece) || state.recomputed.contains(piece)));
    const bool last = op.segment.value + 1 == std::ssize(plan_.segments);
    const auto gradient =
        last ? std::optional(mix({loss_tag, state.activations.at(piece), data(r, op)}))
             : incoming(r, op, op.segment.value + 1, &RankState::gradients, &RankState::received_gradients);
    if (!gradient) return false;
    require(version_of_graph_is(r, op));
    const Graph& graph = state.graphs.at(piece);
    std::vector<Value>& open = state.open_weight_gradients[piece];
    Value value = *gradient;
    for (std::size_t i = graph.inputs.size(); i-- > 0;) {
      open.insert(open.begin(), mix({weight_gradient_tag, value, graph.inputs[i]}));
      value = mix({gradient_tag, value, graph.inputs[i], graph.weights[i]});
    }
    state.gradients[piece] = value;
    return true;
  }

  void add_weight_gradient(int r, const Op& op) {
    RankState& state = states_[r];
    const int segment = op.segment.value;
    require(version_of_graph_is(r, op));
    std::vector<Value>& sums = state.sums[{segment, update_of(op)}];
    const bool open = state.gradient_of.contains(segment);
    // One gradient per segment: not of two updates, added to where there is one, and only there.
    require(op.accumulates == open && (!open || state.gradient_of.at(segment) == update_of(op)));
    state.gradient_of[segment] = update_of(op);
    const std::vector<Value>& parts = state.open_weight_gradients.at(piece_of(op));
    sums.resize(parts.size(), 0);
    for (std::size_t i = 0; i < parts.size(); ++i) sums[i] += parts[i];
    state.open_weight_gradients.erase(piece_of(op));
    --state.open_passes[{segment, update_of(op)}];
    track(r, op, -1);
  }

  /// Stages and micro-batches between forward and last backward.
  void track(int r, const Op& op, int change) {
    if (op.segment != segments_of(plan_, stage_of(plan_, op.segment)).first) return;
    states_[r].in_flight += change;
    const int limit = plan_.ranks[r].in_flight;
    require(limit == 0 || states_[r].in_flight <= limit);
  }

  bool try_send(int r, int l, const Op& op) {
    const bool forward = op.kind == OpKind::send_forward;
    const auto& made = forward ? states_[r].activations : states_[r].gradients;
    const auto payload = made.find(piece_of(op));
    if (payload == made.end()) return false;
    const int peer = op.peer.value;
    const LaneKind other = forward ? LaneKind::recv_forward : LaneKind::recv_backward;
    const int theirs = plan_.ranks[peer].find_lane(other, r);
    if (theirs < 0 || is_done(peer, theirs)) return false;
    const Op& receive = head(peer, theirs);
    auto& mailbox = forward ? states_[peer].received_activations : states_[peer].received_gradients;
    require(receive.peer.value == r && mailbox.insert({piece_of(receive), payload->second}).second);
    ++next_[r][l];
    ++next_[peer][theirs];
    return true;
  }

  bool gradients_are_complete(int r, const Op& op) {
    for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) {
      const std::pair place(s, update_of(op));
      if (states_[r].open_passes[place] > 0) return false;
      require(states_[r].sums.contains(place));
    }
    return true;
  }

  bool try_reduce(int r, int l, const Op& op) {
    std::vector<std::pair<int, int>> lanes;
    for (Rank holder : holders(plan_, stage_of(plan_, op.segment))) {
      const int lane = plan_.ranks[holder.value].find_lane(LaneKind::collectives, plan_.ranks[r].lanes[l].key);
      if (lane < 0 || is_done(holder.value, lane) || !gradients_are_complete(holder.value, op)) return false;
      require(head(holder.value, lane) == op);
      lanes.push_back({holder.value, lane});
    }
    require(lanes.size() > 1);
    for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) {
      const std::pair place(s, update_of(op));
      std::vector<Value> total(plan_.segments[s].layers, 0);
      for (const auto& [holder, lane] : lanes) {
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += states_[holder].sums.at(place)[i];
      }
      for (const auto& [holder, lane] : lanes) {
        states_[holder].sums[place] = total;
        require(!std::exchange(states_[holder].reduced[place], true));
      }
    }
    for (const auto& [holder, lane] : lanes) ++next_[holder][lane];
    return true;
  }

  bool try_update(int r, const Op& op) {
    RankState& state = states_[r];
    if (!gradients_are_complete(r, op)) return false;
    for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) {
      const std::pair place(s, update_of(op));
      const StageId stage = stage_of(plan_, SegmentId(s));
      const bool shared = holders(plan_, stage).size() > 1;
      if (shared && !state.reduced[place]) return false;
      require(is_update_due(plan_, stage, op.step) && op.version == state.latest[s] + 1 && op.version == place.second);
      const auto [first, end] = layers(s);
      for (int layer = first; layer < end; ++layer) {
        const Value before =
            op.version == 1 ? mix({initial_tag, static_cast<Value>(layer)}) : result_.at({layer, op.version - 1});
        const Value after = mix({before, state.sums.at(place)[layer - first]});
        // All holders of the stage must come to the same weights.
        require(result_.insert({{layer, op.version}, after}).first->second == after);
      }
      state.latest[s] = op.version;
      state.gradient_of.erase(s);
    }
    return true;
  }

  const Plan& plan_;
  std::vector<RankState> states_;
  std::vector<std::vector<int>> next_;  ///< [rank][lane]
  Meaning result_;
};

}  // namespace

std::optional<Meaning> meaning_of(const Plan& plan) {
  try {
    return SymbolicRun(plan).run();
  } catch (const Impossible&) {
    return std::nullopt;
  }
}

}  // namespace parabench
