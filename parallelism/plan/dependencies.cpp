#include "parallelism/plan/dependencies.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "parallelism/plan/dependencies/gradient_index.h"
#include "parallelism/plan/dependencies/op_places.h"
#include "parallelism/plan/dependencies/pass_index.h"
#include "parallelism/plan/dependencies/server_index.h"
#include "parallelism/plan/dependencies/sum_index.h"
#include "parallelism/plan/dependencies/weight_index.h"
#include "parallelism/plan/gathers.h"
#include "parallelism/plan/skip_ports.h"
#include "parallelism/plan/ties.h"

namespace parabench::plan {
namespace {

/// What each operation of one rank waits for.
class Finder {
 public:
  Finder(const Plan& plan, Rank rank)
      : plan_(plan),
        rank_(rank),
        last_(last_segment(plan)),
        has_skips_(!plan.skips.empty()),
        is_served_(!plan.servers.empty()),
        ports_(plan),
        places_(plan, rank),
        passes_(places_),
        gradients_(places_),
        sums_(places_),
        weights_(places_),
        servers_(places_) {
    if (plan.room.weights > 0) gathers_.emplace(plan, rank);
    const auto& lanes = plan.ranks[rank.value].lanes;
    for (int lane = 0; lane < std::ssize(lanes); ++lane) {
      for (int i = 0; i < std::ssize(lanes[lane].ops); ++i) add(lanes[lane].ops[i], {rank, lane, i});
    }
    servers_.finish();
  }

  void predecessors(const Op& op, OpRef ref, std::vector<OpRef>& found) const {
    if (gathers_ && op.kind == OpKind::all_gather) return before_use(op, ref, found);
    if (gathers_ && is_pass(op.kind) && !gathers_->bring(op, found)) places_.missing(op);
    switch (op.kind) {
      case OpKind::forward:
        if (op.segment.value > 0) found.push_back(passes_.incoming_activation(op));
        if (has_skips_) skips(op, ports_.entering[op.segment.value], &PassIndex::incoming_skip, found);
        if (op.version.value > 0 && !gathers_) {
          written(op, op.segment, found);
          if (const auto original = shared_original(plan_, op.segment)) written(op, *original, found);
        }
        return;
      case OpKind::recompute: found.push_back(passes_.forward(op)); return;
      case OpKind::backward:
      case OpKind::backward_input:
        found.push_back(passes_.graph(op));
        if (op.segment < last_) found.push_back(passes_.incoming_gradient(op));
        if (has_skips_) skips(op, ports_.leaving[op.segment.value], &PassIndex::incoming_skip_gradient, found);
        if (op.kind == OpKind::backward) room_for_gradients(op, found);
        return;
      case OpKind::backward_weight: found.push_back(passes_.input_gradient(op)); return room_for_gradients(op, found);
      case OpKind::norms: return summed_gradients(op, found);
      case OpKind::update:
        summed_gradients(op, found);
        room_for_weights(op, found);
        if (!is_known(sums_.norm_sum(op, op.segment))) return;
        return over_run(op, found, sums_, &SumIndex::norm_sum);
      case OpKind::add:
        if (is_first_come(op)) return servers_.all_pushed(op, found);
        found.push_back(adds_sent(op) ? servers_.pushed(op) : gradients_.scattered(op));
        return;
      case OpKind::average: return over_run(op, found, weights_, &WeightIndex::sum);
      case OpKind::encode: return whole_gradients(op, found);
      case OpKind::project: return over_run(op, found, sums_, &SumIndex::encoded);
      case OpKind::decode: return over_run(op, found, sums_, &SumIndex::compressed);
      case OpKind::send:
        if (is_over_run(op)) return of_run(op, found);
        found.push_back(op.payload == Payload::activation ? passes_.activation(op) : passes_.activation_gradient(op));
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
  void add(const Op& op, const OpRef& ref) {
    if (is_served_ && is_pass(op.kind)) servers_.add(op, ref);
    switch (op.kind) {
      case OpKind::backward: gradients_.add(op, ref); return passes_.add(op, ref);
      case OpKind::forward:
      case OpKind::recompute:
      case OpKind::backward_input: return passes_.add(op, ref);
      case OpKind::backward_weight: return gradients_.add(op, ref);
      case OpKind::update:
      case OpKind::average: return weights_.add(op, ref);
      case OpKind::add: gradients_.add(op, ref); return servers_.add(op, ref);
      case OpKind::norms:
      case OpKind::encode:
      case OpKind::project:
      case OpKind::decode: return sums_.add(op, ref);
      case OpKind::send:
      case OpKind::receive: return is_over_run(op) ? servers_.add(op, ref) : passes_.add(op, ref);
      case OpKind::all_reduce:
      case OpKind::reduce_scatter:
      case OpKind::all_gather:
      case OpKind::broadcast: return add_collective(op, ref);
    }
  }

  void add_collective(const Op& op, const OpRef& ref) {
    switch (op.payload) {
      case Payload::none: return;
      case Payload::gradients: gradients_.add(op, ref); return sums_.add(op, ref);
      case Payload::tied_gradients: return gradients_.add(op, ref);
      case Payload::gradient_shares:
      case Payload::norms:
      case Payload::encoded:
      case Payload::projected: return sums_.add(op, ref);
      case Payload::parameters: return weights_.add(op, ref);
      case Payload::activation:
      case Payload::activation_gradient: return passes_.add(op, ref);
    }
  }

  /// What writes the operation's version of a segment's weights on this rank: of a worker what comes of all servers.
  void written(const Op& op, SegmentId s, std::vector<OpRef>& found) const {
    if (op.version.value > plan_.steps) places_.missing(op);
    const std::size_t before = found.size();
    if (is_served_) servers_.pulled(op, s, found);
    if (found.size() == before) found.push_back(weights_.written(op, s));
  }

  /// Of a gather whose room other weights had.
  void before_use(const Op& op, OpRef ref, std::vector<OpRef>& found) const {
    if (op.version.value > 0) of_collective(op, found);
    if (const auto reader = gathers_->last_reader(ref)) found.push_back(*reader);
  }

  /// One operation may bring several of them.
  void skips(const Op& op, const std::vector<int>& ports, OpRef (PassIndex::*brings)(const Op&, int) const,
             std::vector<OpRef>& found) const {
    const auto before = std::ssize(found);
    for (const int port : ports) {
      const OpRef ref = (passes_.*brings)(op, port);
      if (is_known(ref) && std::find(found.begin() + before, found.end(), ref) == found.end()) found.push_back(ref);
    }
  }

  /// The collectives that sum the gradients of the run, or what makes them complete on this rank where there is none.
  void summed_gradients(const Op& op, std::vector<OpRef>& found) const {
    over_run(op, found, [&](SegmentId s, std::vector<OpRef>& refs) {
      const OpRef ref = sums_.whole(op, s);
      // Whoever adds shares has waited for their sums.
      if (!is_known(ref) || plan_.scatters_pieces) return gradients_.complete(op, s, refs);
      refs.push_back(ref);
    });
  }

  void whole_gradients(const Op& op, std::vector<OpRef>& found) const {
    over_run(op, found, [&](SegmentId s, std::vector<OpRef>& refs) { gradients_.complete(op, s, refs); });
  }

  static void push_back(OpRef ref, std::vector<OpRef>& found) {
    if (is_known(ref)) found.push_back(ref);
  }

  /// The gradients of a worker's step lie where those of its step before did.
  void room_for_gradients(const Op& pass, std::vector<OpRef>& found) const {
    if (!is_served_ || pass.accumulates) return;
    servers_.pushes_before(pass, pass.segment, found);
    if (const auto original = shared_original(plan_, pass.segment)) servers_.pushes_before(pass, *original, found);
  }

  /// An update takes the place of weights that are still to be sent.
  void room_for_weights(const Op& update, std::vector<OpRef>& found) const {
    if (!is_served_) return;
    const auto before = static_cast<std::ptrdiff_t>(found.size());
    for (int i = 0; i < update.segments; ++i)
      servers_.sends_of_overwritten(update, SegmentId(update.segment.value + i), found);
    std::sort(found.begin() + before, found.end());
    found.erase(std::unique(found.begin() + before, found.end()), found.end());
  }

  /// Weights from a server come in the place of older ones.
  void room_for_pull(const Op& pull, std::vector<OpRef>& found) const {
    over_run(pull, found,
             [&](SegmentId s, std::vector<OpRef>& refs) { push_back(servers_.last_reader_before(pull, s), refs); });
  }

  /// A server has room for one run of each worker at a time.
  void room_for_push(const OpRef& receive, std::vector<OpRef>& found) const {
    if (receive.index == 0) return;
    const Op& before = at(plan_, {receive.rank, receive.lane, receive.index - 1});
    // Where some are taken alone, those before may be dropped: then the update has taken others in their place.
    const bool is_chosen = plan_.taken > 0;
    push_back(is_chosen ? weights_.update_after_step(before, before.segment) : servers_.addition(before), found);
  }

  /// Of a message that a worker and its server exchange.
  void of_run(const Op& send, std::vector<OpRef>& found) const {
    if (send.payload == Payload::gradients) return whole_gradients(send, found);
    over_run(send, found, weights_, &WeightIndex::update_to);
  }

  void of_collective(const Op& op, std::vector<OpRef>& found) const {
    switch (op.payload) {
      case Payload::none: places_.missing(op);
      case Payload::gradients:
        if (!plan_.scatters_pieces || op.kind != OpKind::reduce_scatter) return whole_gradients(op, found);
        return over_run(op, found, gradients_, &GradientIndex::of_piece);
      case Payload::gradient_shares: return over_run(op, found, sums_, &SumIndex::scattered);
      case Payload::tied_gradients: found.push_back(gradients_.last_of_tied(op)); return;
      case Payload::encoded: return over_run(op, found, sums_, &SumIndex::encoding);
      case Payload::projected: return over_run(op, found, sums_, &SumIndex::projecting);
      case Payload::norms: return over_run(op, found, sums_, &SumIndex::norms);
      case Payload::parameters: {
        const bool wrote = op.kind != OpKind::broadcast || op.peer == rank_;
        if (!wrote) return whole_gradients(op, found);
        return over_run(op, found, weights_, &WeightIndex::update_to);
      }
      case Payload::activation: found.push_back(passes_.forward(op)); return;
      case Payload::activation_gradient: found.push_back(passes_.input_gradient(op)); return;
    }
  }

  /// The operation that each segment of a run asks for.
  template <class Index>
  static void over_run(const Op& op, std::vector<OpRef>& found, const Index& index,
                       OpRef (Index::*of)(const Op& op, SegmentId s) const) {
    over_run(op, found, [&](SegmentId s, std::vector<OpRef>& refs) { refs.push_back((index.*of)(op, s)); });
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
  bool is_served_;
  PortsOfSegments ports_;
  OpPlaces places_;
  PassIndex passes_;
  GradientIndex gradients_;
  SumIndex sums_;
  WeightIndex weights_;
  ServerIndex servers_;
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

LocalDependencies receiving_late(const Plan& plan, Rank rank, const LocalDependencies& needs) {
  const auto& lanes = plan.ranks[rank.value].lanes;
  const int computed = static_cast<int>(lanes[compute_lane].ops.size());
  std::vector<std::vector<int>> taken_by;  // of each lane's operations, the first compute operation
  for (const Lane& lane : lanes) taken_by.emplace_back(lane.ops.size(), computed);
  for (int i = computed - 1; i >= 0; --i)
    for (const OpRef& ref : needs.of(compute_lane, i)) taken_by[ref.lane][ref.index] = i;
  LocalDependencies result;
  for (int l = 0; l < std::ssize(lanes); ++l) {
    const bool receives = lanes[l].key.kind == LaneKind::receive;
    auto& [ends, refs] = result.lanes_.emplace_back();
    std::vector<int>& first = taken_by[l];
    for (int i = static_cast<int>(first.size()) - 2; i >= 0; --i) first[i] = std::min(first[i], first[i + 1]);
    for (int i = 0; i < std::ssize(lanes[l].ops); ++i) {
      const auto before = needs.of(l, i);
      refs.insert(refs.end(), before.begin(), before.end());
      if (receives && first[i] >= 2 && first[i] < computed) refs.push_back({rank, compute_lane, first[i] - 2});
      ends.push_back(static_cast<std::uint32_t>(refs.size()));
    }
  }
  return result;
}

}  // namespace parabench::plan
