#include "parallelism/plan/dependencies/pass_index.h"

#include "parallelism/plan/skip_ports.h"

namespace parabench::plan {

PassIndex::PassIndex(const OpPlaces& places) : places_(places) {
  for (auto* passes : {&forward_, &recompute_, &input_gradient_}) passes->assign(places.pieces(), nowhere);
  for (auto* received : {&received_forward_, &received_backward_}) received->assign(places.pieces(), no_op);
  for (auto* received : {&skip_forward_, &skip_backward_}) received->assign(places.skips(), no_op);
  if (has_collectives(places.plan(), places.rank(), Payload::activation))
    summed_forward_.assign(places.pieces(), no_op);
  if (has_collectives(places.plan(), places.rank(), Payload::activation_gradient))
    summed_backward_.assign(places.pieces(), no_op);
}

void PassIndex::add(const Op& op, const OpRef& ref) {
  if (op.kind == OpKind::forward) {
    forward_[places_.piece(op, op.segment)] = ref.index;
  } else if (op.kind == OpKind::recompute) {
    recompute_[places_.piece(op, op.segment)] = ref.index;
  } else if (makes_input_gradient(op.kind)) {
    input_gradient_[places_.piece(op, op.segment)] = ref.index;
  }
  if (!is_of_micro_batch(op.payload) || op.kind == OpKind::send) return;
  const bool is_forward = op.payload == Payload::activation;
  if (op.kind != OpKind::receive) {
    (is_forward ? summed_forward_ : summed_backward_)[places_.piece(op, op.segment)] = ref;
  } else if (op.port > 0) {
    (is_forward ? skip_forward_ : skip_backward_)[places_.skip(op, op.port)] = ref;
  } else {
    (is_forward ? received_forward_ : received_backward_)[places_.piece(op, op.segment)] = ref;
  }
}

OpRef PassIndex::incoming_activation(const Op& op) const {
  return incoming(op, SegmentId(op.segment.value - 1), forward_, summed_forward_, received_forward_);
}

OpRef PassIndex::incoming_gradient(const Op& op) const {
  return incoming(op, SegmentId(op.segment.value + 1), input_gradient_, summed_backward_, received_backward_);
}

OpRef PassIndex::incoming_skip(const Op& op, int port) const {
  const std::vector<SkipPort>& skips = places_.plan().skips;
  const SegmentId maker = skips[port - 1].from;
  if (is_computed(op, maker, forward_)) return complete(op, maker, forward_, summed_forward_);
  while (port > 0 && !is_known(skip_forward_[places_.skip(op, port)])) port = earlier_port(skips, port);
  if (port == 0) places_.missing(op);
  return skip_forward_[places_.skip(op, port)];
}

OpRef PassIndex::incoming_skip_gradient(const Op& op, int port) const {
  const std::vector<SkipPort>& skips = places_.plan().skips;
  const SegmentId taker = skips[port - 1].to;
  if (is_computed(op, taker, input_gradient_)) return complete(op, taker, input_gradient_, summed_backward_);
  const OpRef received = skip_backward_[places_.skip(op, port)];
  if (is_known(received)) return received;
  while ((port = earlier_port(skips, port)) > 0) {
    if (is_known(skip_backward_[places_.skip(op, port)])) return no_op;
  }
  places_.missing(op);
}

OpRef PassIndex::complete(const Op& op, SegmentId s, const std::vector<int>& computed,
                          const std::vector<OpRef>& summed) const {
  const std::size_t place = places_.piece(op, s);
  if (!summed.empty() && is_known(summed[place])) return summed[place];
  return places_.compute(op, computed[place]);
}

/// Whether the same piece passes another segment on this rank.
bool PassIndex::is_computed(const Op& op, SegmentId other, const std::vector<int>& computed) const {
  const Plan& plan = places_.plan();
  const Rank rank = places_.rank();
  return places_.holds(other) && replica_of(plan, rank, other) == replica_of(plan, rank, op.segment) &&
         computed[places_.piece(op, other)] != nowhere;
}

/// From the neighbour on this rank if the same pieces pass through it here, else from a message.
OpRef PassIndex::incoming(const Op& op, SegmentId neighbour, const std::vector<int>& computed,
                          const std::vector<OpRef>& summed, const std::vector<OpRef>& received) const {
  if (is_computed(op, neighbour, computed)) return complete(op, neighbour, computed, summed);
  return places_.known(op, received[places_.piece(op, op.segment)]);
}

}  // namespace parabench::plan
