#include "parallelism/plan/lane.h"

#include <algorithm>
#include <tuple>

namespace parabench::plan {

LaneKind lane_kind(OpKind kind) {
  switch (kind) {
    case OpKind::forward:
    case OpKind::backward:
    case OpKind::backward_input:
    case OpKind::backward_weight:
    case OpKind::recompute:
    case OpKind::norms:
    case OpKind::update:
    case OpKind::add:
    case OpKind::average:
    case OpKind::encode:
    case OpKind::project:
    case OpKind::decode: return LaneKind::compute;
    case OpKind::send: return LaneKind::send;
    case OpKind::receive: return LaneKind::receive;
    case OpKind::all_reduce:
    case OpKind::reduce_scatter:
    case OpKind::all_gather:
    case OpKind::broadcast: return LaneKind::collectives;
  }
  return LaneKind::compute;
}

std::strong_ordering operator<=>(const LaneKey& a, const LaneKey& b) {
  const auto place = [](const LaneKey& key) {
    return std::tuple(std::min(key.kind, LaneKind::send), key.purpose, key.kind, key.group, key.peer);
  };
  return place(a) <=> place(b);
}

LaneKey collectives_of(GroupId group, Payload purpose) {
  return {.kind = LaneKind::collectives, .purpose = purpose, .group = group};
}
LaneKey sends_to(Rank peer, Payload purpose) { return {.kind = LaneKind::send, .purpose = purpose, .peer = peer}; }
LaneKey receives_from(Rank peer, Payload purpose) {
  return {.kind = LaneKind::receive, .purpose = purpose, .peer = peer};
}

LaneKey lane_of(const Op& op) {
  const LaneKind kind = lane_kind(op.kind);
  switch (kind) {
    case LaneKind::compute: return {};
    case LaneKind::collectives: return collectives_of(op.group, op.payload);
    case LaneKind::send: return sends_to(op.peer, op.payload);
    case LaneKind::receive: return receives_from(op.peer, op.payload);
  }
  return {};
}

LaneKey other_end(const LaneKey& messages, Rank own) {
  return messages.kind == LaneKind::send ? receives_from(own, messages.purpose) : sends_to(own, messages.purpose);
}

std::string name(const LaneKey& lane) {
  std::string text(parabench::to_text(lane.kind));
  if (lane.kind == LaneKind::compute) return text;
  const int number = is_message(lane.kind) ? lane.peer.value : lane.group.value;
  return text + ':' + std::string(parabench::to_text(lane.purpose)) + ':' + std::to_string(number);
}

}  // namespace parabench::plan
