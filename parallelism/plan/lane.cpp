#include "parallelism/plan/lane.h"

namespace parabench {

std::string_view name(LaneKind kind) {
  switch (kind) {
    case LaneKind::compute: return "compute";
    case LaneKind::collectives: return "collectives";
    case LaneKind::send_forward: return "send_forward";
    case LaneKind::recv_forward: return "recv_forward";
    case LaneKind::send_backward: return "send_backward";
    case LaneKind::recv_backward: return "recv_backward";
  }
  return {};
}

LaneKind lane_kind(OpKind kind) {
  switch (kind) {
    case OpKind::forward:
    case OpKind::backward:
    case OpKind::backward_input:
    case OpKind::backward_weight:
    case OpKind::recompute:
    case OpKind::update: return LaneKind::compute;
    case OpKind::all_reduce: return LaneKind::collectives;
    case OpKind::send_forward: return LaneKind::send_forward;
    case OpKind::recv_forward: return LaneKind::recv_forward;
    case OpKind::send_backward: return LaneKind::send_backward;
    case OpKind::recv_backward: return LaneKind::recv_backward;
  }
  return LaneKind::compute;
}

bool is_send(LaneKind kind) { return kind == LaneKind::send_forward || kind == LaneKind::send_backward; }
bool is_receive(LaneKind kind) { return kind == LaneKind::recv_forward || kind == LaneKind::recv_backward; }
bool is_message(LaneKind kind) { return is_send(kind) || is_receive(kind); }

std::string name(const Lane& lane) {
  std::string text(name(lane.kind));
  if (lane.kind != LaneKind::compute) text += ':' + std::to_string(lane.key);
  return text;
}

LaneKind other_end(LaneKind kind) {
  switch (kind) {
    case LaneKind::compute:
    case LaneKind::collectives: return kind;
    case LaneKind::send_forward: return LaneKind::recv_forward;
    case LaneKind::recv_forward: return LaneKind::send_forward;
    case LaneKind::send_backward: return LaneKind::recv_backward;
    case LaneKind::recv_backward: return LaneKind::send_backward;
  }
  return kind;
}

}  // namespace parabench
