#include "tests/parallelism/plan/symbolic_rank.h"

#include <algorithm>
#include <initializer_list>

#include "base/optimizer.h"

namespace parabench::plan {
namespace {

using Value = SymbolicRank::Value;

Value mix(std::initializer_list<Value> parts) {
  Value hash = 0x9e3779b97f4a7c15ULL;
  for (Value part : parts) hash = (hash ^ part) * 0xbf58476d1ce4e5b9ULL ^ (hash >> 29);
  return hash;
}

constexpr Value activation_tag = 1, loss_tag = 2, gradient_tag = 3, weight_gradient_tag = 4, initial_tag = 5,
                skip_tag = 6, skip_gradient_tag = 7;

bool has(const Segment& segment, int layer) {
  return segment.first_layer <= layer && layer < segment.first_layer + segment.layers;
}

Value initial(int layer) { return mix({initial_tag, static_cast<Value>(layer)}); }

}  // namespace

void require(bool holds) {
  if (!holds) throw Impossible{};
}

SymbolicRank::SymbolicRank(const Plan& plan, const std::vector<LayerSkip>& skips, Rank rank, Meaning& trained)
    : plan_(plan), skips_(skips), rank_(rank), trained_(trained), latest_(plan.segments.size(), 0) {
  for (const Op& op : plan.ranks[rank.value].compute()) {
    if (makes_weight_gradient(op.kind)) ++open_passes_[{op.segment.value, update_of(op)}];
    if (is_pass(op.kind)) ++readers_[op.segment.value][op.version.value];
    if (op.kind == OpKind::update && op.group.value >= 0) runs_.insert(op.segment.value);
  }
  for (const Lane& lane : plan.ranks[rank.value].lanes) {
    for (const Op& op : lane.ops) {
      if (op.kind == OpKind::all_gather && op.payload == Payload::parameters)
        ++gathers_[{op.segment.value, op.step.value}];
      if (op.kind != OpKind::send || op.payload != Payload::parameters) continue;
      for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) ++unsent_[{s, op.version.value}];
    }
  }
  for (const Lane& lane : plan.ranks[rank.value].lanes) {
    for (const Op& op : lane.ops) {
      if (!is_served(op)) continue;
      const bool pushes = op.payload == Payload::gradients;
      for (int s = op.segment.value; s < op.segment.value + op.segments; ++s)
        ++(pushes ? unpushed_[{s, op.step.value}] : unpulled_[{s, op.version.value}]);
    }
  }
  if (std::ranges::find(plan.servers, rank) == plan.servers.end()) return;
  for (const RankProgram& other : plan.ranks) {
    std::set<SegmentUpdate> makes;
    for (const Op& op : other.compute())
      if (makes_weight_gradient(op.kind)) makes.insert({op.segment.value, update_of(op)});
    for (const SegmentUpdate& update : makes) ++workers_of_[update];
  }
}

int SymbolicRank::buffer_of(SegmentId segment, int room) const {
  // Descending: the first that does not begin behind the segment.
  const auto run = runs_.lower_bound(segment.value);
  require(run != runs_.end());
  return static_cast<int>(std::distance(runs_.begin(), run)) % room;
}

bool SymbolicRank::weights_are_here(const Op& pass) const {
  const auto found = whole_.find(buffer_of(pass.segment, plan_.room.weights));
  if (found == whole_.end()) return false;
  const Op& gather = found->second.gather;
  const bool has = gather.segment <= pass.segment && pass.segment.value < gather.segment.value + gather.segments;
  const bool is_meant = pass.kind == OpKind::forward ? found->second.for_forwards : found->second.for_backwards;
  return has && is_meant && gather.step == pass.step;
}

bool SymbolicRank::has_room_for(const Op& all_gather) const {
  for (int s = all_gather.segment.value; s < all_gather.segment.value + all_gather.segments; ++s)
    if (latest_[s] != all_gather.version.value) return false;
  const auto there = whole_.find(buffer_of(all_gather.segment, plan_.room.weights));
  return there == whole_.end() || there->second.readers == 0;
}

void SymbolicRank::take_weights(const Op& all_gather) {
  const std::pair run{all_gather.segment.value, all_gather.step.value};
  Whole whole{
      .gather = all_gather, .for_forwards = gathered_.insert(run).second, .for_backwards = --gathers_[run] == 0};
  for (const Op& pass : plan_.ranks[rank_.value].compute()) {
    const bool reads = is_pass(pass.kind) && pass.step == all_gather.step && all_gather.segment <= pass.segment &&
                       pass.segment.value < all_gather.segment.value + all_gather.segments;
    whole.readers += reads && (pass.kind == OpKind::forward ? whole.for_forwards : whole.for_backwards);
  }
  whole_[buffer_of(all_gather.segment, plan_.room.weights)] = whole;
}

int SymbolicRank::update_of(const Op& op) const {
  return op.step.value / plan_.versions[stage_of(plan_, op.segment).value].steps_per_update + 1;
}

/// The part of the batch that the piece is.
Value SymbolicRank::samples(const Op& op) const {
  const ReplicaId replica = replica_of(plan_, rank_, op.segment);
  return mix({static_cast<Value>(op.step.value), static_cast<Value>(piece_offset(plan_, replica, op.micro_batch)),
              static_cast<Value>(samples_of(plan_, replica, op.micro_batch)),
              static_cast<Value>(batch_samples(plan_))});
}

/// Made by the neighbouring segment: here for the same piece, or received.
std::optional<Value> SymbolicRank::incoming(const Op& op, SegmentId neighbour, const Values& made,
                                            const Values& received) const {
  const bool same_piece = replica_of(plan_, rank_, neighbour) == replica_of(plan_, rank_, op.segment);
  if (same_piece) {
    if (const auto here = made.find(piece_of(op, neighbour.value)); here != made.end()) return here->second;
  }
  const auto found = received.find(piece_of(op));
  return found == received.end() ? std::nullopt : std::optional(found->second);
}

Value SymbolicRank::weights(const Op& op, int layer) const {
  const int latest = latest_[op.segment.value];
  const int version = op.version.value;
  require(version >= 0 && version <= latest && version > latest - plan_.ranks[rank_.value].weight_versions);
  if (version == 0) return initial(layer);
  const auto own = own_.find({layer, version});
  return own == own_.end() ? trained_.at({layer, version}) : own->second;
}

bool SymbolicRank::has_version_of_graph(const Op& op) const {
  const Graph& graph = graphs_.at(piece_of(op));
  return graph.weights.front() == weights(op, plan_.segments[op.segment.value].first_layer);
}

bool SymbolicRank::try_compute(const Op& op) {
  if (op.kind == OpKind::norms) return try_norms(op);
  if (op.kind == OpKind::average) return try_average(op);
  if (op.kind == OpKind::add) return try_add(op);
  if (is_of_compression(op.kind)) return try_compression(op);
  return op.kind == OpKind::update ? try_update(op) : try_pass(op);
}

bool SymbolicRank::try_pass(const Op& op) {
  require(replica_of(plan_, rank_, op.segment) >= ReplicaId(0));
  if (!plan_.servers.empty() && op.version.value > latest_[op.segment.value]) return false;
  // The gradients of its step before are still to be sent.
  const auto open = gradient_of_.find(op.segment.value);
  if (!plan_.servers.empty() && makes_weight_gradient(op.kind) && open != gradient_of_.end() &&
      open->second != update_of(op))
    return false;
  if (shares_.contains(op.segment.value) || is_being_averaged(op.segment.value)) return false;
  const bool gathers = plan_.room.weights > 0 && !runs_.empty();
  if (gathers && !weights_are_here(op)) return false;
  const Piece piece = piece_of(op);
  switch (op.kind) {
    case OpKind::forward:
      if (!try_forward(op)) return false;
      break;
    case OpKind::recompute:
      require(discarded_.contains(piece) && has_version_of_graph(op));
      recomputed_.insert(piece);
      break;
    case OpKind::backward:
    case OpKind::backward_input:
      if (!try_input_gradient(op)) return false;
      break;
    case OpKind::backward_weight: require(open_weight_gradients_.contains(piece)); break;
    case OpKind::send:
    case OpKind::receive:
    case OpKind::all_reduce:
    case OpKind::reduce_scatter:
    case OpKind::all_gather:
    case OpKind::broadcast:
    case OpKind::norms:
    case OpKind::update:
    case OpKind::add:
    case OpKind::average:
    case OpKind::encode:
    case OpKind::project:
    case OpKind::decode: throw Impossible{};
  }
  require(done_.insert({op.kind, piece}).second);
  if (makes_weight_gradient(op.kind)) add_weight_gradient(op);
  --readers_[op.segment.value][op.version.value];
  if (gathers) --whole_.at(buffer_of(op.segment, plan_.room.weights)).readers;
  return true;
}

bool SymbolicRank::try_forward(const Op& op) {
  const auto input = op.segment == SegmentId(0)
                         ? std::optional(samples(op))
                         : incoming(op, SegmentId(op.segment.value - 1), activations_, received_activations_);
  if (!input || !skips_have_come(op)) return false;
  Graph graph;
  Value value = *input;
  const Segment& segment = plan_.segments[op.segment.value];
  for (int layer = segment.first_layer; layer < segment.first_layer + segment.layers; ++layer) {
    const Value skipped = taken(op, layer);
    graph.inputs.push_back(value);
    graph.taken.push_back(skipped);
    graph.weights.push_back(weights(op, layer));
    value = mix({activation_tag, value, graph.weights.back(), skipped});
    for (const LayerSkip& skip : skips_) {
      if (skip.from == layer) skip_values_[skip_of(op, skip.tensor)] = value;
    }
  }
  activations_[piece_of(op)] = value;
  graphs_[piece_of(op)] = std::move(graph);
  if (op.discards) discarded_.insert(piece_of(op));
  track(op, +1);
  return true;
}

bool SymbolicRank::try_input_gradient(const Op& op) {
  const Piece piece = piece_of(op);
  require(graphs_.contains(piece) && (!discarded_.contains(piece) || recomputed_.contains(piece)));
  const auto gradient = op.segment == last_segment(plan_)
                            ? std::optional(mix({loss_tag, activations_.at(piece), samples(op)}))
                            : incoming(op, SegmentId(op.segment.value + 1), gradients_, received_gradients_);
  if (!gradient || !skip_gradients_have_come(op)) return false;
  require(has_version_of_graph(op));
  const Graph& graph = graphs_.at(piece);
  std::vector<Value> open;
  Value value = *gradient;
  for (std::size_t i = graph.inputs.size(); i-- > 0;) {
    const int layer = plan_.segments[op.segment.value].first_layer + static_cast<int>(i);
    value += returned(op, layer);
    std::set<int> tensors;
    for (const LayerSkip& skip : skips_) {
      if (skip.to != layer || !tensors.insert(skip.tensor).second) continue;
      const Value part = mix({skip_gradient_tag, value, graph.taken[i], graph.inputs[i], graph.weights[i],
                              static_cast<Value>(skip.tensor)});
      add_skip_gradient(skip_of(op, skip.tensor), {part, {layer}});
    }
    open.insert(open.begin(), mix({weight_gradient_tag, value, graph.inputs[i], graph.taken[i]}));
    value = mix({gradient_tag, value, graph.inputs[i], graph.taken[i], graph.weights[i]});
  }
  open_weight_gradients_[piece] = std::move(open);
  gradients_[piece] = value;
  return true;
}

void SymbolicRank::add_weight_gradient(const Op& op) {
  const int segment = op.segment.value;
  require(has_version_of_graph(op));
  const bool by_pieces = plan_.scatters_pieces && !runs_.empty();
  require(!by_pieces || !pieces_.contains(piece_of(op)));
  std::vector<Value>& sums = by_pieces ? pieces_[piece_of(op)].sums : sums_[{segment, update_of(op)}];
  const bool open = gradient_of_.contains(segment);
  // One gradient per segment: not of two updates, added to where there is one, and only there.
  require(op.accumulates == open && (!open || gradient_of_.at(segment) == update_of(op)));
  gradient_of_[segment] = update_of(op);
  if (plan_.room.gradients > 0 && !runs_.empty()) {
    const int run = *runs_.lower_bound(segment);
    require(gradient_room_.insert({buffer_of(op.segment, plan_.room.gradients), run}).first->second == run);
  }
  const std::vector<Value>& parts = open_weight_gradients_.at(piece_of(op));
  sums.resize(parts.size(), 0);
  for (std::size_t i = 0; i < parts.size(); ++i) sums[i] += parts[i];
  open_weight_gradients_.erase(piece_of(op));
  --open_passes_[{segment, update_of(op)}];
  track(op, -1);
}

/// Stages and micro-batches between forward and last backward.
void SymbolicRank::track(const Op& op, int change) {
  if (op.segment != segments_of(plan_, stage_of(plan_, op.segment)).first) return;
  in_flight_ += change;
  const int limit = plan_.ranks[rank_.value].in_flight;
  require(limit == 0 || in_flight_ <= limit);
}

int SymbolicRank::tensor_of(const Op& message) const {
  // The plan names tensors by the first skip of the model's list that leads them.
  require(message.port <= std::ssize(plan_.skips));
  return skips_.at(plan_.skips[message.port - 1].tensor).tensor;
}

void SymbolicRank::add_skip_gradient(const SkipPiece& piece, const Carried& part) {
  Carried& sum = skip_gradients_[piece];
  sum.value += part.value;
  for (const int taker : part.takers) require(sum.takers.insert(taker).second);
}

bool SymbolicRank::skips_have_come(const Op& op) const {
  const Segment& segment = plan_.segments[op.segment.value];
  return std::ranges::all_of(skips_, [&](const LayerSkip& skip) {
    const bool enters = skip.from < segment.first_layer && has(segment, skip.to);
    return !enters || skip_values_.contains(skip_of(op, skip.tensor));
  });
}

bool SymbolicRank::skip_gradients_have_come(const Op& op) const {
  const Segment& segment = plan_.segments[op.segment.value];
  return std::ranges::all_of(skips_, [&](const LayerSkip& skip) {
    const bool leaves = has(segment, skip.from) && !has(segment, skip.to);
    const auto found = skip_gradients_.find(skip_of(op, skip.tensor));
    return !leaves || (found != skip_gradients_.end() && found->second.takers.contains(skip.to));
  });
}

/// The sum of the skips that the layer takes.
Value SymbolicRank::taken(const Op& op, int layer) const {
  Value sum = 0;
  for (const LayerSkip& skip : skips_) {
    if (skip.to == layer)
      sum += mix({skip_tag, skip_values_.at(skip_of(op, skip.tensor)), static_cast<Value>(skip.tensor)});
  }
  return sum;
}

/// The sum of the gradients of the tensors that the layer made for others.
Value SymbolicRank::returned(const Op& op, int layer) const {
  Value sum = 0;
  std::set<int> tensors;
  for (const LayerSkip& skip : skips_) {
    if (skip.from == layer && tensors.insert(skip.tensor).second)
      sum += skip_gradients_.at(skip_of(op, skip.tensor)).value;
  }
  return sum;
}

std::optional<SymbolicRank::Carried> SymbolicRank::payload(const Op& send) const {
  if (send.port > 0) {
    const OpKind kind = send.payload == Payload::activation ? OpKind::forward : OpKind::backward;
    const bool is_made =
        kind == OpKind::forward ? activations_.contains(piece_of(send)) : gradients_.contains(piece_of(send));
    if (!is_made) return std::nullopt;
    const SkipPiece piece = skip_of(send, tensor_of(send));
    return kind == OpKind::forward ? Carried{skip_values_.at(piece), {}} : skip_gradients_.at(piece);
  }
  const Values& made = send.payload == Payload::activation ? activations_ : gradients_;
  const auto found = made.find(piece_of(send));
  return found == made.end() ? std::nullopt : std::optional(Carried{found->second, {}});
}

void SymbolicRank::take(const Op& receive, const Carried& payload) {
  if (receive.port > 0) {
    const SkipPiece piece = skip_of(receive, tensor_of(receive));
    if (receive.payload == Payload::activation) {
      require(skip_values_.insert({piece, payload.value}).second);
    } else {
      add_skip_gradient(piece, payload);
    }
    return;
  }
  Values& received = receive.payload == Payload::activation ? received_activations_ : received_gradients_;
  require(received.insert({piece_of(receive), payload.value}).second);
}

bool SymbolicRank::gradients_are_complete(const Op& op) const {
  for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) {
    if (is_of_piece(op, s)) {
      if (!pieces_.contains(piece_of(op, s))) return false;
      continue;
    }
    if (serves(s)) {
      const auto added = added_.find({s, update_of(op)});
      const auto workers = workers_of_.find({s, update_of(op)});
      const int due = plan_.taken > 0 ? plan_.taken : workers == workers_of_.end() ? 0 : workers->second;
      if (added == added_.end() || workers == workers_of_.end() || std::ssize(added->second) < due) return false;
    }
    const auto open = open_passes_.find({s, update_of(op)});
    if (open != open_passes_.end() && open->second > 0) return false;
    require(sums_.contains({s, update_of(op)}));
  }
  return true;
}

void SymbolicRank::replace_sums(const Op& reduction, int segment, std::vector<Value> total) {
  if (is_of_piece(reduction, segment)) {
    PieceSum& piece = pieces_.at(piece_of(reduction, segment));
    require(!piece.scattered);
    piece = {std::move(total), reduction};
    reduced_.insert_or_assign({segment, update_of(reduction)}, reduction);
    return;
  }
  sums_[{segment, update_of(reduction)}] = std::move(total);
  require(reduced_.insert({{segment, update_of(reduction)}, reduction}).second);
}

bool SymbolicRank::completes(const Op& sum) {
  if (is_of_piece(sum, sum.segment.value)) return true;
  std::set<int>& parts = parts_[{sum.segment.value, update_of(sum)}];
  require(parts.insert(sum.port).second);
  const int count = plan_.parts.empty() ? 1 : plan_.parts[sum.segment.value];
  require(count == 1 ? sum.port == 0 : sum.port >= 1 && sum.port <= count);
  return std::ssize(parts) == count;
}

std::optional<Op> SymbolicRank::scattered(const Op& sum) const {
  const auto found = reduced_.find({sum.segment.value, update_of(sum)});
  if (found == reduced_.end()) return std::nullopt;
  const Op& scatter = found->second;
  require(scatter.kind == OpKind::reduce_scatter && scatter.segment == sum.segment && scatter.segments == sum.segments);
  return scatter;
}

void SymbolicRank::replace_share_sums(const Op& sum, int segment, std::vector<Value> total) {
  sums_[{segment, update_of(sum)}] = std::move(total);
  require(summed_shares_.insert({segment, update_of(sum)}).second);
}

bool SymbolicRank::is_summed(int segment, int update) const {
  const auto reduced = reduced_.find({segment, update});
  if (reduced == reduced_.end()) return false;
  const bool by_all = plan_.groups[reduced->second.group.value].ranks == holders(plan_, plan_.segments[segment].stage);
  return by_all || summed_shares_.contains({segment, update});
}

bool SymbolicRank::is_encoded(const Op& sum) const {
  for (int s = sum.segment.value; s < sum.segment.value + sum.segments; ++s) {
    const auto made = steps_.find({OpKind::encode, {s, update_of(sum)}});
    if (made == steps_.end()) return false;
    require(made->second.segment == sum.segment && made->second.segments == sum.segments &&
            made->second.group == sum.group);
  }
  return true;
}

void SymbolicRank::take_encoded(const Op& sum, int segment, std::vector<Value> total) {
  sums_[{segment, update_of(sum)}] = std::move(total);
  require(brought_.insert({{Payload::encoded, {segment, update_of(sum)}}, sum}).second);
}

bool SymbolicRank::is_projected(const Op& sum) const {
  for (int s = sum.segment.value; s < sum.segment.value + sum.segments; ++s)
    if (!steps_.contains({OpKind::project, {s, update_of(sum)}})) return false;
  return true;
}

void SymbolicRank::take_projected(const Op& sum) {
  for (int s = sum.segment.value; s < sum.segment.value + sum.segments; ++s) {
    const Op& made = steps_.at({OpKind::project, {s, update_of(sum)}});
    require(made.segment == sum.segment && made.segments == sum.segments && made.group == sum.group);
    require(brought_.insert({{Payload::projected, {s, update_of(sum)}}, sum}).second);
  }
}

/// Each step of every segment once, after the collective before it, in one run and group all the way.
bool SymbolicRank::try_compression(const Op& op) {
  const bool projects = plan_.spec.compress.name == "powersgd";
  require(plan_.spec.compress.name != "none" && (projects || op.kind != OpKind::project));
  const bool starts = op.kind == OpKind::encode;
  const Payload before = op.kind == OpKind::decode && projects ? Payload::projected : Payload::encoded;
  if (starts && !gradients_are_complete(op)) return false;
  for (int s = op.segment.value; s < op.segment.value + op.segments && !starts; ++s) {
    const auto brought = brought_.find({before, {s, update_of(op)}});
    if (brought == brought_.end()) return false;
    const Op& sum = brought->second;
    require(sum.segment == op.segment && sum.segments == op.segments && sum.group == op.group);
  }
  for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) {
    require(steps_.insert({{op.kind, {s, update_of(op)}}, op}).second);
    if (op.kind == OpKind::decode) require(reduced_.insert({{s, update_of(op)}, op}).second);
  }
  return true;
}

bool SymbolicRank::norms_are_measured(const Op& sum) const {
  for (int s = sum.segment.value; s < sum.segment.value + sum.segments; ++s) {
    if (!norms_.contains({s, update_of(sum)})) return false;
  }
  return true;
}

void SymbolicRank::take_norms(const Op& sum) {
  for (int s = sum.segment.value; s < sum.segment.value + sum.segments; ++s) {
    const Op& measured = norms_.at({s, update_of(sum)});
    require(measured.segment == sum.segment && measured.segments == sum.segments && measured.group == sum.group);
    require(summed_norms_.insert({s, update_of(sum)}).second);
  }
}

/// Of weights that the share's update is still to write, and of gradients that are summed.
bool SymbolicRank::try_norms(const Op& op) {
  require(find_optimizer(plan_.spec.optimizer.name).reads_norms);
  for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) {
    const bool is_there = serves(s) ? gradients_are_complete(op) : is_summed(s, update_of(op));
    if (!is_there) return false;
    const Op like = serves(s) ? op : reduced_.at({s, update_of(op)});
    require((serves(s) || like.kind == OpKind::reduce_scatter) && like.segment == op.segment &&
            like.segments == op.segments && like.group == op.group && latest_[s] + 1 == update_of(op) &&
            !shares_.contains(s));
    require(norms_.insert({{s, update_of(op)}, op}).second);
  }
  return true;
}

bool SymbolicRank::share_is_written(const Op& all_gather) const {
  for (int s = all_gather.segment.value; s < all_gather.segment.value + all_gather.segments; ++s) {
    if (!shares_.contains(s)) return false;
  }
  return true;
}

void SymbolicRank::complete_shares(const Op& all_gather) {
  for (int s = all_gather.segment.value; s < all_gather.segment.value + all_gather.segments; ++s) {
    const Op& update = shares_.at(s);
    require(update.segment == all_gather.segment && update.segments == all_gather.segments &&
            update.group == all_gather.group && update.version == all_gather.version);
    latest_[s] = update.version.value;
    shares_.erase(s);
  }
}

bool SymbolicRank::try_update(const Op& op) {
  if (!gradients_are_complete(op)) return false;
  for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) {
    const Segment& segment = plan_.segments[s];
    const SegmentUpdate place(s, update_of(op));
    require(plan_.servers.empty() || serves(s));
    if (!is_sent(s, op.version.value - plan_.ranks[rank_.value].weight_versions)) return false;
    const bool shared = holders(plan_, segment.stage).size() > 1 && !is_apart(s) && plan_.servers.empty();
    if (shared && !is_summed(s, update_of(op))) return false;
    const bool by_pieces = plan_.scatters_pieces && shared;
    if (by_pieces && added_pieces_[place] < micro_batches(plan_)) return false;
    require(shared || !reduced_.contains(place));
    if (serves(s) && plan_.taken == 0) require_share(op, added_as_.at(place));
    if (is_being_averaged(s)) return false;
    const bool by_norms = op.group != GroupId(-1) && find_optimizer(plan_.spec.optimizer.name).reads_norms;
    if (by_norms && !summed_norms_.contains(place)) return false;
    require(is_update_due(plan_, segment.stage, op.step));
    const int version = op.version.value;
    require(version == latest_[s] + 1 && version == update_of(op) && !shares_.contains(s));
    // What was scattered is there in the rank's share alone.
    const bool scattered = shared && reduced_.at(place).kind == OpKind::reduce_scatter;
    const Op like = shared ? reduced_.at(place) : op;
    require(!scattered || (op.group == like.group && op.segment == like.segment && op.segments == like.segments));
    for (int l = 0; l < segment.layers; ++l) {
      const int layer = segment.first_layer + l;
      const auto own = own_.find({layer, version - 1});
      const Value before = version == 1        ? initial(layer)
                           : own != own_.end() ? own->second
                                               : trained_.at({layer, version - 1});
      const Value after = mix({before, sums_.at(place)[l]});
      if (is_apart(s)) {
        own_[{layer, version}] = after;
        continue;
      }
      // All holders of the stage must come to the same weights.
      require(trained_.insert({{layer, version}, after}).first->second == after);
    }
    if (serves(s)) wrote_.insert_or_assign({s, version}, op);
    if (op.group == GroupId(-1) || plan_.room.weights > 0 || serves(s)) {
      latest_[s] = version;
    } else {
      shares_.insert({s, op});
    }
    gradient_of_.erase(s);
  }
  if (plan_.room.gradients > 0 && op.group != GroupId(-1))
    gradient_room_.erase(buffer_of(op.segment, plan_.room.gradients));
  return true;
}

bool SymbolicRank::serves(int segment) const {
  return !plan_.servers.empty() && updates(plan_, rank_, plan_.segments[segment].stage);
}

/// Whether all servers that share a run, and their workers, mean the same shares of it.
void SymbolicRank::require_share(const Op& op, const Op& like) const {
  const bool shared = served_in_shares(plan_);
  require(!shared || (op.segment == like.segment && op.segments == like.segments));
  require(op.group == like.group && (op.group.value >= 0) == shared);
  require(!shared || plan_.groups[op.group.value].ranks == plan_.servers);
}

void SymbolicRank::take_push(const Op& receive, int segment, std::vector<Value> sums) {
  require(serves(segment));
  require(pushed_.insert({{segment, receive.step.value, receive.peer.value}, std::move(sums)}).second);
}

bool SymbolicRank::try_add_share(const Op& op) {
  for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) {
    const auto piece = pieces_.find(piece_of(op, s));
    require(piece != pieces_.end());
    const std::optional<Op>& sum = piece->second.scattered;
    if (!sum) return false;
    require(sum->segment == op.segment && sum->segments == op.segments && sum->group == op.group);
  }
  for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) {
    const auto piece = pieces_.extract(piece_of(op, s));
    std::vector<Value>& sums = sums_[{s, update_of(op)}];
    require(op.accumulates == (added_pieces_[{s, update_of(op)}]++ > 0));
    sums.resize(piece.mapped().sums.size(), 0);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += piece.mapped().sums[i];
    require(gradient_of_.erase(s) == 1);
  }
  if (plan_.room.gradients > 0) gradient_room_.erase(buffer_of(op.segment, plan_.room.gradients));
  return true;
}

bool SymbolicRank::try_add_first_come(const Op& op) {
  // Whoever comes first: here those of the lowest ranks, once all have come, so that the order of lanes decides
  // nothing.
  require(plan_.taken > 0 && op.port <= plan_.taken);
  std::vector<Op> sent;
  for (Rank worker; worker.value < std::ssize(plan_.ranks); ++worker.value) {
    Op add = op;
    add.port = 0;
    add.peer = worker;
    int segments = 0;
    for (int s = op.segment.value; s < op.segment.value + op.segments; ++s)
      segments += pushed_.contains({s, op.step.value, worker.value});
    if (segments == op.segments) sent.push_back(add);
  }
  if (added_places_[{op.segment.value, op.step.value}] == 0 && std::ssize(sent) < plan_.replicas) return false;
  require(op.port == ++added_places_[{op.segment.value, op.step.value}] && try_add(sent.front()));
  if (op.port < plan_.taken) return true;
  for (int s = op.segment.value; s < op.segment.value + op.segments; ++s)
    for (std::size_t late = 1; late < sent.size(); ++late) pushed_.erase({s, op.step.value, sent[late].peer.value});
  return true;
}

bool SymbolicRank::try_add(const Op& op) {
  if (is_first_come(op)) return try_add_first_come(op);
  if (adds_share(op)) return try_add_share(op);
  for (int s = op.segment.value; s < op.segment.value + op.segments; ++s)
    if (!pushed_.contains({s, op.step.value, op.peer.value})) return false;
  for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) {
    const auto sent = pushed_.extract({s, op.step.value, op.peer.value});
    const auto [like, is_first] = added_as_.try_emplace({s, update_of(op)}, op);
    require_share(op, like->second);
    std::set<int>& workers = added_[{s, update_of(op)}];
    require(op.accumulates == !workers.empty() && workers.insert(op.peer.value).second);
    std::vector<Value>& sums = sums_[{s, update_of(op)}];
    sums.resize(sent.mapped().size(), 0);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += sent.mapped()[i];
  }
  return true;
}

bool SymbolicRank::has_written(const Op& send) const {
  for (int s = send.segment.value; s < send.segment.value + send.segments; ++s)
    if (!serves(s) || latest_[s] < send.version.value) return false;
  for (int s = send.segment.value; s < send.segment.value + send.segments; ++s)
    require_share(send, wrote_.at({s, send.version.value}));
  return true;
}

void SymbolicRank::end_push(const Op& send) {
  for (int s = send.segment.value; s < send.segment.value + send.segments; ++s)
    if (--unpushed_[{s, send.step.value}] == 0) gradient_of_.erase(s);
}

void SymbolicRank::end_pull(const Op& send) {
  for (int s = send.segment.value; s < send.segment.value + send.segments; ++s) --unsent_[{s, send.version.value}];
}

bool SymbolicRank::is_sent(int segment, int version) const {
  return std::ranges::none_of(unsent_, [&](const auto& entry) {
    return entry.first.first == segment && entry.first.second <= version && entry.second > 0;
  });
}

bool SymbolicRank::try_pull(const Op& receive) {
  for (int s = receive.segment.value; s < receive.segment.value + receive.segments; ++s) {
    const int overwritten = receive.version.value - plan_.ranks[rank_.value].weight_versions;
    for (const auto& [version, readers] : readers_[s])
      if (version <= overwritten && readers > 0) return false;
  }
  for (int s = receive.segment.value; s < receive.segment.value + receive.segments; ++s) {
    require(!serves(s) && latest_[s] < receive.version.value);
    require(pulled_.insert({s, receive.version.value, receive.peer.value}).second);
    if (--unpulled_[{s, receive.version.value}] > 0) continue;
    require(!served_in_shares(plan_) || is_pulled_of_all(s, receive.version.value));
    latest_[s] = receive.version.value;
  }
  return true;
}

bool SymbolicRank::is_pulled_of_all(int segment, int version) const {
  return std::ranges::all_of(plan_.servers, [&](Rank server) {
    return pulled_.contains({segment, version, server.value});
  });
}

bool SymbolicRank::is_apart(int segment) const {
  return plan_.averaging.every > 0 && holders(plan_, plan_.segments[segment].stage).size() > 1;
}

bool SymbolicRank::is_being_averaged(int segment) const {
  const int latest = latest_[segment];
  const auto averaged = averaged_.find(segment);
  return is_apart(segment) && latest > 0 && latest % plan_.averaging.every == 0 &&
         (averaged == averaged_.end() || averaged->second != latest);
}

bool SymbolicRank::weights_are_written(const Op& all_reduce) const {
  for (int s = all_reduce.segment.value; s < all_reduce.segment.value + all_reduce.segments; ++s)
    if (latest_[s] != all_reduce.version.value || !is_being_averaged(s)) return false;
  return true;
}

void SymbolicRank::take_weight_sum(const Op& all_reduce) {
  const int version = all_reduce.version.value;
  for (int s = all_reduce.segment.value; s < all_reduce.segment.value + all_reduce.segments; ++s) {
    require(weight_sums_.insert({{s, version}, all_reduce}).second);
    const Segment& segment = plan_.segments[s];
    // Every member adds its own at the same moment.
    for (int layer = segment.first_layer; layer < segment.first_layer + segment.layers; ++layer)
      trained_[{layer, version}] += own_.at({layer, version});
  }
}

bool SymbolicRank::try_average(const Op& op) {
  const int version = op.version.value;
  for (int s = op.segment.value; s < op.segment.value + op.segments; ++s) {
    const auto sum = weight_sums_.find({s, version});
    if (sum == weight_sums_.end()) return false;
    require(sum->second.segment == op.segment && sum->second.segments == op.segments && sum->second.group == op.group);
    weight_sums_.erase(sum);
    averaged_[s] = version;
    const Segment& segment = plan_.segments[s];
    for (int l = 0; l < segment.layers; ++l) own_.erase({segment.first_layer + l, version});
  }
  return true;
}

}  // namespace parabench::plan
