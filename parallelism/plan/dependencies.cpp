#include "parallelism/plan/dependencies.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "parallelism/plan/gathers.h"
#include "parallelism/plan/skip_ports.h"

namespace parabench::plan {
namespace {

constexpr int nowhere = -1;

/// Where one rank's operations are.
class OpIndex {
 public:
  OpIndex(const Plan& plan, Rank rank) : plan_(plan), rank_(rank), slot_(plan.segments.size(), nowhere) {
    int held = 0;
    for (SegmentId s : segments_held(plan, rank)) slot_[s.value] = held++;
    const std::size_t pieces = static_cast<std::size_t>(held) * plan.steps * micro_batches(plan);
    for (auto* places : {&forward_, &recompute_, &input_gradient_}) places->assign(pieces, nowhere);
    if (plan.scatters_pieces) weight_gradient_.assign(pieces, nowhere);
    received_forward_.assign(pieces, {Rank(nowhere)});
    received_backward_.assign(pieces, {Rank(nowhere)});
    const std::size_t skipping = plan.skips.size() * plan.steps * micro_batches(plan);
    for (auto* places : {&skip_forward_, &skip_backward_}) places->assign(skipping, {Rank(nowhere)});
    const std::size_t updates = static_cast<std::size_t>(held) * (plan.steps + 1);
    last_gradient_.assign(updates, nowhere);
    norms_.assign(updates, nowhere);
    update_to_.assign(updates, nowhere);
    reduction_.assign(updates, {Rank(nowhere)});
    tied_.assign(plan.steps + 1, {Rank(nowhere)});
    const auto& lanes = plan.ranks[rank.value].lanes;
    for (const Lane& lane : lanes)
      if (lane.key.kind == LaneKind::collectives) make_room(lane.key.purpose);
    if (!plan.servers.empty()) {
      last_reader_.assign(updates, nowhere);
      for (auto* places : {&last_push_, &sent_, &pulled_}) places->resize(updates);
    }
    for (int lane = 0; lane < std::ssize(lanes); ++lane) {
      for (int i = 0; i < std::ssize(lanes[lane].ops); ++i) add(lanes[lane].ops[i], {rank, lane, i});
    }
    for (std::size_t i = 1; i < last_reader_.size(); ++i) {
      if (i % (plan.steps + 1) == 0) continue;  // another segment's
      last_reader_[i] = std::max(last_reader_[i], last_reader_[i - 1]);
      if (last_push_[i].empty()) last_push_[i] = last_push_[i - 1];
    }
  }

  OpRef forward(const Op& op) const { return compute(op, forward_[piece(op, op.segment)]); }
  OpRef input_gradient(const Op& op) const { return compute(op, input_gradient_[piece(op, op.segment)]); }
  /// The recomputed forward where there is one.
  OpRef graph(const Op& op) const {
    const int again = recompute_[piece(op, op.segment)];
    return again == nowhere ? forward(op) : compute(op, again);
  }
  /// What the segment itself makes, complete.
  OpRef activation(const Op& op) const { return complete(op, op.segment, forward_, summed_forward_); }
  OpRef activation_gradient(const Op& op) const { return complete(op, op.segment, input_gradient_, summed_backward_); }
  /// What its neighbours make for it.
  OpRef incoming_activation(const Op& op) const {
    return incoming(op, SegmentId(op.segment.value - 1), forward_, summed_forward_, received_forward_);
  }
  OpRef incoming_gradient(const Op& op) const {
    return incoming(op, SegmentId(op.segment.value + 1), input_gradient_, summed_backward_, received_backward_);
  }
  /// What a skip brings to the segment that takes it. An earlier port of the same tensor may have brought it here.
  OpRef incoming_skip(const Op& op, int port) const {
    const SegmentId maker = plan_.skips[port - 1].from;
    if (is_computed(op, maker, forward_)) return complete(op, maker, forward_, summed_forward_);
    while (port > 0 && skip_forward_[skip(op, port)].rank.value == nowhere) port = earlier_port(plan_.skips, port);
    if (port == 0) missing(op);
    return skip_forward_[skip(op, port)];
  }
  /// The gradient that a skip brings back to the segment that made it; an invalid rank where an earlier port of the
  /// same tensor brings the sum.
  OpRef incoming_skip_gradient(const Op& op, int port) const {
    const SegmentId taker = plan_.skips[port - 1].to;
    if (is_computed(op, taker, input_gradient_)) return complete(op, taker, input_gradient_, summed_backward_);
    const OpRef received = skip_backward_[skip(op, port)];
    if (received.rank.value != nowhere) return received;
    while ((port = earlier_port(plan_.skips, port)) > 0) {
      if (skip_backward_[skip(op, port)].rank.value != nowhere) return received;
    }
    missing(op);
  }
  /// What writes the operation's version of a segment's weights on this rank: of a worker what comes of all servers.
  void written(const Op& op, SegmentId s, std::vector<OpRef>& found) const {
    const int version = op.version.value;
    if (version > plan_.steps) missing(op);
    if (!pulled_.empty()) {
      const std::vector<OpRef>& pulls = pulled_[update(op, s, version)];
      found.insert(found.end(), pulls.begin(), pulls.end());
      if (!pulls.empty()) return;
    }
    if (!gathered_.empty()) {
      if (const OpRef& ref = gathered_[update(op, s, version)]; ref.rank.value != nowhere) return found.push_back(ref);
    }
    found.push_back(update_to(op, s));
  }
  OpRef update_to(const Op& op, SegmentId s) const {
    const int version = op.version.value;
    return compute(op, version <= plan_.steps ? update_to_[update(op, s, version)] : nowhere);
  }
  /// What makes the gradients of a segment complete on this rank, but for its replicas' share.
  void gradients(const Op& op, SegmentId s, std::vector<OpRef>& found) const {
    const std::optional<TiedSegments>& tie = plan_.tie;
    if (tie && !tie->shared && (s == tie->original || s == tie->copy)) {
      const OpRef sum = tied_[number(op, s)];
      if (sum.rank.value == nowhere) missing(op);
      found.push_back(sum);
      return;
    }
    found.push_back(last_gradient(op, s));
    if (tie && tie->shared && s == tie->original && s != tie->copy) found.push_back(last_gradient(op, tie->copy));
  }
  /// The segment whose part of a tied tensor this rank has.
  SegmentId tied_here() const {
    return slot_[plan_.tie->original.value] == nowhere ? plan_.tie->copy : plan_.tie->original;
  }
  OpRef last_gradient(const Op& op, SegmentId s) const { return compute(op, last_gradient_[due(op, s)]); }
  OpRef norms(const Op& op, SegmentId s) const { return compute(op, norms_[due(op, s)]); }
  /// An invalid rank where nothing sums the segment's norms.
  OpRef norm_sum(const Op& op, SegmentId s) const {
    return norm_sum_.empty() ? OpRef{Rank(nowhere)} : norm_sum_[due(op, s)];
  }
  /// What brought the gradients that a server adds.
  OpRef pushed(const Op& add) const {
    const auto found = pushed_.find({add.segment, add.step, add.peer});
    if (found == pushed_.end()) missing(add);
    return found->second;
  }
  /// What brought the gradients of all workers, by rank.
  void all_pushed(const Op& add, std::vector<OpRef>& found) const {
    const auto begin = pushed_.lower_bound({add.segment, add.step, Rank(nowhere)});
    const auto end = pushed_.lower_bound({add.segment, StepId(add.step.value + 1), Rank(nowhere)});
    if (begin == end) missing(add);
    for (auto push = begin; push != end; ++push) found.push_back(push->second);
  }
  /// What adds the gradients that a server receives, or has taken others in their place; an invalid rank where nothing
  /// does.
  OpRef addition(const Op& receive) const {
    if (plan_.taken > 0) {
      const int index = update_to_[due(receive, receive.segment) + 1];
      return index == nowhere ? OpRef{Rank(nowhere)} : OpRef{rank_, compute_lane, index};
    }
    const auto found = adds_.find({receive.segment, receive.step, receive.peer});
    return found == adds_.end() ? OpRef{Rank(nowhere)} : OpRef{rank_, compute_lane, found->second};
  }
  /// Of a segment that a server updates: what sends the version whose place the update's takes.
  void sends_of_overwritten(const Op& update, SegmentId s, std::vector<OpRef>& found) const {
    const int overwritten = update.version.value - plan_.ranks[rank_.value].weight_versions;
    if (sent_.empty() || overwritten < 0 || overwritten > plan_.steps) return;
    const std::vector<OpRef>& sends = sent_[this->update(update, s, overwritten)];
    found.insert(found.end(), sends.begin(), sends.end());
  }
  /// The last pass that reads a segment's weights in the place of which others come; an invalid rank where none does.
  OpRef last_reader_before(const Op& pull, SegmentId s) const {
    const int overwritten = pull.version.value - plan_.ranks[rank_.value].weight_versions;
    if (last_reader_.empty() || overwritten < 0 || overwritten > plan_.steps) return {Rank(nowhere)};
    const int index = last_reader_[update(pull, s, overwritten)];
    return index == nowhere ? OpRef{Rank(nowhere)} : OpRef{rank_, compute_lane, index};
  }
  /// What sends the gradients of a segment which lie where a pass makes new ones.
  void pushes_before(const Op& pass, SegmentId s, std::vector<OpRef>& found) const {
    if (last_push_.empty() || pass.step.value == 0) return;
    const std::vector<OpRef>& pushes = last_push_[update(pass, s, pass.step.value - 1)];
    found.insert(found.end(), pushes.begin(), pushes.end());
  }
  /// What a micro-batch made of the gradients of a segment, and the sum of which a share is added.
  OpRef piece_gradient(const Op& op, SegmentId s) const { return compute(op, weight_gradient_[piece(op, s)]); }
  OpRef scattered(const Op& add) const {
    const auto found = scattered_.find({add.segment, add.step, add.micro_batch});
    if (found == scattered_.end()) missing(add);
    return found->second;
  }
  OpRef weight_sum(const Op& op, SegmentId s) const {
    if (weight_sum_.empty() || op.version.value > plan_.steps) missing(op);
    const OpRef ref = weight_sum_[update(op, s, op.version.value)];
    if (ref.rank.value == nowhere) missing(op);
    return ref;
  }
  OpRef encoding(const Op& op, SegmentId s) const {
    return compute(op, encode_.empty() ? nowhere : encode_[due(op, s)]);
  }
  OpRef projecting(const Op& op, SegmentId s) const {
    return compute(op, project_.empty() ? nowhere : project_[due(op, s)]);
  }
  OpRef encoded_sum(const Op& op, SegmentId s) const { return found(op, s, encoded_sum_); }
  /// The last collective of a compressed sum.
  OpRef compressed_sum(const Op& op, SegmentId s) const {
    const bool projects = !projected_sum_.empty() && projected_sum_[due(op, s)].rank.value != nowhere;
    return found(op, s, projects ? projected_sum_ : encoded_sum_);
  }
  /// The last part of it, after which its lane has done the others; an invalid rank where the segment is not reduced.
  OpRef reduction(const Op& op, SegmentId s) const { return reduction_[due(op, s)]; }
  /// The same after shares were summed, where they are.
  OpRef whole_sum(const Op& op, SegmentId s) const {
    const OpRef of_shares = share_sum_.empty() ? OpRef{Rank(nowhere)} : share_sum_[due(op, s)];
    return of_shares.rank.value == nowhere ? reduction(op, s) : of_shares;
  }

  [[noreturn]] void missing(const Op& op) const {
    throw usage_error(
        "plan", to_text(op) + " of step " + std::to_string(op.step.value) + " on rank " + std::to_string(rank_.value),
        "what it waits for on the same rank");
  }

 private:
  int slot(const Op& op, SegmentId s) const {
    if (slot_[s.value] == nowhere) missing(op);
    return slot_[s.value];
  }
  std::size_t piece(const Op& op, SegmentId s) const {
    const std::size_t row = static_cast<std::size_t>(slot(op, s)) * plan_.steps + op.step.value;
    return row * micro_batches(plan_) + op.micro_batch.value;
  }
  std::size_t skip(const Op& op, int port) const {
    const std::size_t row = static_cast<std::size_t>(port - 1) * plan_.steps + op.step.value;
    return row * micro_batches(plan_) + op.micro_batch.value;
  }
  std::size_t update(const Op& op, SegmentId s, int version) const {
    return static_cast<std::size_t>(slot(op, s)) * (plan_.steps + 1) + version;
  }
  /// The update that the operation's step adds to.
  int number(const Op& op, SegmentId s) const {
    return op.step.value / plan_.versions[stage_of(plan_, s).value].steps_per_update;
  }
  std::size_t due(const Op& op, SegmentId s) const { return update(op, s, number(op, s)); }

  OpRef found(const Op& op, SegmentId s, const std::vector<OpRef>& places) const {
    const OpRef ref = places.empty() ? OpRef{Rank(nowhere)} : places[due(op, s)];
    if (ref.rank.value == nowhere) missing(op);
    return ref;
  }

  /// For what only some plans have.
  void make_room(Payload payload) {
    switch (payload) {
      case Payload::none:
      case Payload::gradients:
      case Payload::tied_gradients: return;
      case Payload::gradient_shares: share_sum_.assign(update_to_.size(), {Rank(nowhere)}); return;
      case Payload::encoded:
      case Payload::projected:
        for (auto* places : {&encode_, &project_}) places->assign(update_to_.size(), nowhere);
        for (auto* places : {&encoded_sum_, &projected_sum_}) places->resize(update_to_.size(), {Rank(nowhere)});
        return;
      case Payload::norms: norm_sum_.assign(update_to_.size(), {Rank(nowhere)}); return;
      case Payload::parameters:
        gathered_.assign(update_to_.size(), {Rank(nowhere)});
        if (plan_.averaging.every > 0) weight_sum_.assign(update_to_.size(), {Rank(nowhere)});
        return;
      case Payload::activation: summed_forward_.assign(forward_.size(), {Rank(nowhere)}); return;
      case Payload::activation_gradient: summed_backward_.assign(forward_.size(), {Rank(nowhere)}); return;
    }
  }

  /// Of a pass on a worker: whose weights it reads.
  void note_reader(const Op& pass, int index) {
    if (last_reader_.empty() || pass.version.value > plan_.steps) return;
    last_reader_[update(pass, pass.segment, pass.version.value)] = index;
    if (const auto& tie = plan_.tie; tie && tie->shared && pass.segment == tie->copy)
      last_reader_[update(pass, tie->original, pass.version.value)] = index;
  }

  void add(const Op& op, OpRef ref) {
    if (is_pass(op.kind)) note_reader(op, ref.index);
    switch (op.kind) {
      case OpKind::forward: forward_[piece(op, op.segment)] = ref.index; return;
      case OpKind::recompute: recompute_[piece(op, op.segment)] = ref.index; return;
      case OpKind::backward: input_gradient_[piece(op, op.segment)] = ref.index; return add_gradient(op, ref);
      case OpKind::backward_input: input_gradient_[piece(op, op.segment)] = ref.index; return;
      case OpKind::backward_weight: return add_gradient(op, ref);
      case OpKind::norms:
        for (int i = 0; i < op.segments; ++i) norms_[due(op, SegmentId(op.segment.value + i))] = ref.index;
        return;
      case OpKind::update:
        for (int i = 0; i < op.segments && op.version.value <= plan_.steps; ++i) {
          update_to_[update(op, SegmentId(op.segment.value + i), op.version.value)] = ref.index;
        }
        return;
      case OpKind::average: return bring(op, ref, gathered_);
      case OpKind::encode: return put(op, ref.index, encode_);
      case OpKind::project: return put(op, ref.index, project_);
      case OpKind::decode: return put(op, ref, reduction_);
      case OpKind::add:
        for (int i = 0; i < op.segments; ++i) last_gradient_[due(op, SegmentId(op.segment.value + i))] = ref.index;
        adds_[{op.segment, op.step, op.peer}] = ref.index;
        return;
      case OpKind::receive:
        if (op.payload == Payload::parameters) return add_served(op, ref, op.version.value, pulled_);
        if (op.payload == Payload::gradients) {
          pushed_[{op.segment, op.step, op.peer}] = ref;
        } else if (op.port > 0) {
          (op.payload == Payload::activation ? skip_forward_ : skip_backward_)[skip(op, op.port)] = ref;
        } else {
          (op.payload == Payload::activation ? received_forward_ : received_backward_)[piece(op, op.segment)] = ref;
        }
        return;
      case OpKind::send:
        if (!is_over_run(op)) return;
        if (op.payload == Payload::gradients) return add_served(op, ref, op.step.value, last_push_);
        return add_served(op, ref, op.version.value, sent_);
      case OpKind::all_reduce:
      case OpKind::reduce_scatter:
      case OpKind::all_gather:
      case OpKind::broadcast: return add_collective(op, ref);
    }
  }

  void add_gradient(const Op& pass, OpRef ref) {
    last_gradient_[due(pass, pass.segment)] = ref.index;
    if (plan_.scatters_pieces) weight_gradient_[piece(pass, pass.segment)] = ref.index;
  }

  /// Where the update that each segment of the run adds to is due. Nowhere where the plan has no lane for it: who looks
  /// for it finds it missing.
  template <class Place>
  void put(const Op& op, const Place& place, std::vector<Place>& places) {
    for (int i = 0; i < op.segments && !places.empty(); ++i) places[due(op, SegmentId(op.segment.value + i))] = place;
  }

  /// What moves between a worker and its servers, of a step or version.
  void add_served(const Op& message, OpRef ref, int place, std::vector<std::vector<OpRef>>& places) {
    for (int i = 0; i < message.segments && place <= plan_.steps && !places.empty(); ++i)
      places[update(message, SegmentId(message.segment.value + i), place)].push_back(ref);
  }

  void add_collective(const Op& op, OpRef ref) {
    switch (op.payload) {
      case Payload::none: return;
      case Payload::gradients:
        for (int i = 0; i < op.segments; ++i) reduction_[due(op, SegmentId(op.segment.value + i))] = ref;
        if (plan_.scatters_pieces) scattered_[{op.segment, op.step, op.micro_batch}] = ref;
        return;
      case Payload::gradient_shares:
        for (int i = 0; i < op.segments; ++i) share_sum_[due(op, SegmentId(op.segment.value + i))] = ref;
        return;
      case Payload::tied_gradients: tied_[number(op, op.segment)] = ref; return;
      case Payload::norms: return put(op, ref, norm_sum_);
      case Payload::encoded: return put(op, ref, encoded_sum_);
      case Payload::projected: return put(op, ref, projected_sum_);
      case Payload::parameters: return bring(op, ref, op.kind == OpKind::all_reduce ? weight_sum_ : gathered_);
      case Payload::activation: summed_forward_[piece(op, op.segment)] = ref; return;
      case Payload::activation_gradient: summed_backward_[piece(op, op.segment)] = ref; return;
    }
  }

  /// Notes what brings a version of the weights of a run.
  void bring(const Op& op, OpRef ref, std::vector<OpRef>& places) const {
    if (places.empty()) return;
    for (int i = 0; i < op.segments && op.version.value <= plan_.steps; ++i)
      places[update(op, SegmentId(op.segment.value + i), op.version.value)] = ref;
  }

  OpRef complete(const Op& op, SegmentId s, const std::vector<int>& computed, const std::vector<OpRef>& summed) const {
    const std::size_t place = piece(op, s);
    if (!summed.empty() && summed[place].rank.value != nowhere) return summed[place];
    return compute(op, computed[place]);
  }

  /// Whether the same piece passes another segment on this rank.
  bool is_computed(const Op& op, SegmentId other, const std::vector<int>& computed) const {
    return slot_[other.value] != nowhere && replica_of(plan_, rank_, other) == replica_of(plan_, rank_, op.segment) &&
           computed[piece(op, other)] != nowhere;
  }

  /// From the neighbour on this rank if the same pieces pass through it here, else from a message.
  OpRef incoming(const Op& op, SegmentId neighbour, const std::vector<int>& computed, const std::vector<OpRef>& summed,
                 const std::vector<OpRef>& received) const {
    if (is_computed(op, neighbour, computed)) return complete(op, neighbour, computed, summed);
    const OpRef ref = received[piece(op, op.segment)];
    if (ref.rank.value == nowhere) missing(op);
    return ref;
  }

  OpRef compute(const Op& op, int index) const {
    if (index == nowhere) missing(op);
    return {rank_, compute_lane, index};
  }

  const Plan& plan_;
  Rank rank_;
  std::vector<int> slot_;                                    ///< by segment: its row below
  std::vector<int> forward_, recompute_, input_gradient_;    ///< [row][step][micro-batch] -> compute lane
  std::vector<OpRef> received_forward_, received_backward_;  ///< the same for messages
  std::vector<OpRef> skip_forward_, skip_backward_;          ///< [port][step][micro-batch] for messages of skips
  std::vector<OpRef> summed_forward_, summed_backward_;      ///< and for all_reduces; empty where there are none
  std::vector<int> last_gradient_, norms_, update_to_;       ///< [row][update] -> compute lane
  std::vector<int> weight_gradient_;                         ///< [row][step][micro-batch]; empty if not needed
  std::map<std::tuple<SegmentId, StepId, MicroBatchId>, OpRef> scattered_;  ///< by run, where pieces are
  std::vector<OpRef> reduction_;                                            ///< [row][update]
  std::vector<OpRef> share_sum_, norm_sum_, weight_sum_;                    ///< the same; empty where there are none
  std::vector<int> encode_, project_;                                       ///< the same
  std::vector<OpRef> encoded_sum_, projected_sum_;                          ///< the same
  std::map<std::tuple<SegmentId, StepId, Rank>, OpRef> pushed_;  ///< receives of gradients, by run and sender
  std::map<std::tuple<SegmentId, StepId, Rank>, int> adds_;      ///< of these, on the compute lane
  // Empty where there are no servers.
  std::vector<int> last_reader_;                   ///< [row][version] of it or of those before -> compute lane
  std::vector<std::vector<OpRef>> last_push_;      ///< [row][step] of it or of those before
  std::vector<std::vector<OpRef>> sent_, pulled_;  ///< [row][version] by a server, to a worker
  std::vector<OpRef> gathered_;                    ///< by gathers and averages; the same
  std::vector<OpRef> tied_;                        ///< [update] the sum of the tied tensor's gradients
};

class Finder {
 public:
  Finder(const Plan& plan, Rank rank)
      : plan_(plan),
        rank_(rank),
        last_(last_segment(plan)),
        has_skips_(!plan.skips.empty()),
        ports_(plan),
        index_(plan, rank) {
    if (plan.room.weights > 0) gathers_.emplace(plan, rank);
  }

  void predecessors(const Op& op, OpRef ref, std::vector<OpRef>& found) const {
    if (gathers_ && op.kind == OpKind::all_gather) return before_use(op, ref, found);
    if (gathers_ && is_pass(op.kind) && !gathers_->bring(op, found)) index_.missing(op);
    switch (op.kind) {
      case OpKind::forward:
        if (op.segment.value > 0) found.push_back(index_.incoming_activation(op));
        if (has_skips_) skips(op, ports_.entering[op.segment.value], &OpIndex::incoming_skip, found);
        if (op.version.value > 0 && !gathers_) {
          index_.written(op, op.segment, found);
          if (const auto& tie = plan_.tie; tie && tie->shared && op.segment == tie->copy && tie->original != tie->copy)
            index_.written(op, tie->original, found);
        }
        return;
      case OpKind::recompute: found.push_back(index_.forward(op)); return;
      case OpKind::backward:
      case OpKind::backward_input:
        found.push_back(index_.graph(op));
        if (op.segment < last_) found.push_back(index_.incoming_gradient(op));
        if (has_skips_) skips(op, ports_.leaving[op.segment.value], &OpIndex::incoming_skip_gradient, found);
        if (op.kind == OpKind::backward) room_for_gradients(op, found);
        return;
      case OpKind::backward_weight: found.push_back(index_.input_gradient(op)); return room_for_gradients(op, found);
      case OpKind::norms: return summed_gradients(op, found);
      case OpKind::update:
        summed_gradients(op, found);
        room_for_weights(op, found);
        if (index_.norm_sum(op, op.segment).rank.value == nowhere) return;
        return over_run(op, found, &OpIndex::norm_sum);
      case OpKind::add:
        if (is_first_come(op)) return index_.all_pushed(op, found);
        found.push_back(adds_sent(op) ? index_.pushed(op) : index_.scattered(op));
        return;
      case OpKind::average: return over_run(op, found, &OpIndex::weight_sum);
      case OpKind::encode: return whole_gradients(op, found);
      case OpKind::project: return over_run(op, found, &OpIndex::encoded_sum);
      case OpKind::decode: return over_run(op, found, &OpIndex::compressed_sum);
      case OpKind::send:
        if (is_over_run(op)) return of_run(op, found);
        found.push_back(op.payload == Payload::activation ? index_.activation(op) : index_.activation_gradient(op));
        return;
      case OpKind::receive:
        if (op.payload == Payload::parameters) room_for_pull(op, found);
        if (op.payload == Payload::gradients) room_for_push(ref, found);
        return;
      case OpKind::all_reduce:
      case OpKind::reduce_scatter:
      case OpKind::all_gather:
      case OpKind::broadcast: return of_collective(op, found);
    }
  }

 private:
  /// Of a gather whose room other weights had.
  void before_use(const Op& op, OpRef ref, std::vector<OpRef>& found) const {
    if (op.version.value > 0) of_collective(op, found);
    if (const auto reader = gathers_->last_reader(ref)) found.push_back(*reader);
  }

  /// One operation may bring several of them.
  void skips(const Op& op, const std::vector<int>& ports, OpRef (OpIndex::*brings)(const Op&, int) const,
             std::vector<OpRef>& found) const {
    const auto before = std::ssize(found);
    for (const int port : ports) {
      const OpRef ref = (index_.*brings)(op, port);
      if (ref.rank.value != nowhere && std::find(found.begin() + before, found.end(), ref) == found.end())
        found.push_back(ref);
    }
  }

  /// The collectives that sum the gradients of the run, or what makes them complete on this rank where there is none.
  void summed_gradients(const Op& op, std::vector<OpRef>& found) const {
    over_run(op, found, [&](SegmentId s, std::vector<OpRef>& refs) {
      const OpRef ref = index_.whole_sum(op, s);
      // Whoever adds shares has waited for their sums.
      if (ref.rank.value == nowhere || plan_.scatters_pieces) return index_.gradients(op, s, refs);
      refs.push_back(ref);
    });
  }

  void whole_gradients(const Op& op, std::vector<OpRef>& found) const {
    over_run(op, found, [&](SegmentId s, std::vector<OpRef>& refs) { index_.gradients(op, s, refs); });
  }

  static void push_back(OpRef ref, std::vector<OpRef>& found) {
    if (ref.rank.value != nowhere) found.push_back(ref);
  }

  /// The gradients of a worker's step lie where those of its step before did.
  void room_for_gradients(const Op& pass, std::vector<OpRef>& found) const {
    if (pass.accumulates) return;
    index_.pushes_before(pass, pass.segment, found);
    if (const auto& tie = plan_.tie; tie && tie->shared && pass.segment == tie->copy && tie->original != tie->copy)
      index_.pushes_before(pass, tie->original, found);
  }

  /// An update takes the place of weights that are still to be sent.
  void room_for_weights(const Op& update, std::vector<OpRef>& found) const {
    const auto before = static_cast<std::ptrdiff_t>(found.size());
    for (int i = 0; i < update.segments; ++i)
      index_.sends_of_overwritten(update, SegmentId(update.segment.value + i), found);
    std::sort(found.begin() + before, found.end());
    found.erase(std::unique(found.begin() + before, found.end()), found.end());
  }

  /// Weights from a server come in the place of older ones.
  void room_for_pull(const Op& pull, std::vector<OpRef>& found) const {
    over_run(pull, found,
             [&](SegmentId s, std::vector<OpRef>& refs) { push_back(index_.last_reader_before(pull, s), refs); });
  }

  /// A server has room for one run of each worker at a time.
  void room_for_push(const OpRef& receive, std::vector<OpRef>& found) const {
    if (receive.index == 0) return;
    push_back(index_.addition(at(plan_, {receive.rank, receive.lane, receive.index - 1})), found);
  }

  /// Of a message that a worker and its server exchange.
  void of_run(const Op& send, std::vector<OpRef>& found) const {
    if (send.payload == Payload::gradients) return whole_gradients(send, found);
    over_run(send, found, &OpIndex::update_to);
  }

  void of_collective(const Op& op, std::vector<OpRef>& found) const {
    switch (op.payload) {
      case Payload::none: index_.missing(op);
      case Payload::gradients:
        if (!plan_.scatters_pieces || op.kind != OpKind::reduce_scatter) return whole_gradients(op, found);
        return over_run(op, found, &OpIndex::piece_gradient);
      case Payload::gradient_shares:
        return over_run(op, found, [&](SegmentId s, std::vector<OpRef>& refs) {
          const OpRef scattered = index_.reduction(op, s);
          if (scattered.rank.value == nowhere) index_.missing(op);
          refs.push_back(scattered);
        });
      case Payload::tied_gradients: found.push_back(index_.last_gradient(op, index_.tied_here())); return;
      case Payload::encoded: return over_run(op, found, &OpIndex::encoding);
      case Payload::projected: return over_run(op, found, &OpIndex::projecting);
      case Payload::norms: return over_run(op, found, &OpIndex::norms);
      case Payload::parameters: {
        const bool wrote = op.kind != OpKind::broadcast || op.peer == rank_;
        return over_run(op, found, [&](SegmentId s, std::vector<OpRef>& refs) {
          if (!wrote) return index_.gradients(op, s, refs);
          refs.push_back(index_.update_to(op, s));
        });
      }
      case Payload::activation: found.push_back(index_.forward(op)); return;
      case Payload::activation_gradient: found.push_back(index_.input_gradient(op)); return;
    }
  }

  /// The operation that each segment of a run asks for.
  void over_run(const Op& op, std::vector<OpRef>& found, OpRef (OpIndex::*of)(const Op& op, SegmentId s) const) const {
    over_run(op, found, [&](SegmentId s, std::vector<OpRef>& refs) { refs.push_back((index_.*of)(op, s)); });
  }
  /// What each segment of a run asks for; one operation often serves neighbours.
  template <class Of>
  static void over_run(const Op& op, std::vector<OpRef>& found, Of of) {
    const auto before = static_cast<std::ptrdiff_t>(found.size());
    for (int i = 0; i < op.segments; ++i) {
      of(SegmentId(op.segment.value + i), found);
    }
    found.erase(std::unique(found.begin() + before, found.end()), found.end());
  }

  const Plan& plan_;
  Rank rank_;
  SegmentId last_;
  bool has_skips_;
  PortsOfSegments ports_;
  OpIndex index_;
  std::optional<GatherIndex> gathers_;  ///< where there is room for some weights alone
};

}  // namespace

const Op& at(const Plan& plan, OpRef ref) { return plan.ranks[ref.rank.value].lanes[ref.lane].ops[ref.index]; }

LocalDependencies dependencies(const Plan& plan, Rank rank) {
  const Finder finder(plan, rank);
  LocalDependencies result;
  const auto& lanes = plan.ranks[rank.value].lanes;
  for (int l = 0; l < std::ssize(lanes); ++l) {
    const std::vector<Op>& ops = lanes[l].ops;
    auto& [ends, refs] = result.lanes_.emplace_back();
    ends.reserve(ops.size());
    for (int i = 0; i < std::ssize(ops); ++i) {
      finder.predecessors(ops[i], {rank, l, i}, refs);
      ends.push_back(static_cast<std::uint32_t>(refs.size()));
    }
  }
  return result;
}

}  // namespace parabench::plan
