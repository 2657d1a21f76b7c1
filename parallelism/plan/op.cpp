#include "parallelism/plan/op.h"

namespace parabench {

std::string_view name(OpKind kind) {
  switch (kind) {
    case OpKind::forward: return "F";
    case OpKind::backward: return "B";
    case OpKind::send_forward: return "SEND_F";
    case OpKind::recv_forward: return "RECV_F";
    case OpKind::send_backward: return "SEND_B";
    case OpKind::recv_backward: return "RECV_B";
    case OpKind::all_reduce: return "ALL_REDUCE";
    case OpKind::update: return "UPDATE";
  }
  return {};
}

bool is_compute(OpKind kind) { return kind == OpKind::forward || kind == OpKind::backward; }
bool is_send(OpKind kind) { return kind == OpKind::send_forward || kind == OpKind::send_backward; }
bool is_receive(OpKind kind) { return kind == OpKind::recv_forward || kind == OpKind::recv_backward; }
bool is_over_run(OpKind kind) { return kind == OpKind::all_reduce || kind == OpKind::update; }

std::string_view name(Lane lane) {
  switch (lane) {
    case Lane::compute: return "compute";
    case Lane::collectives: return "collectives";
    case Lane::p2p_forward: return "p2p_forward";
    case Lane::p2p_backward: return "p2p_backward";
  }
  return {};
}

Lane lane_of(OpKind kind) {
  switch (kind) {
    case OpKind::forward:
    case OpKind::backward:
    case OpKind::update: return Lane::compute;
    case OpKind::all_reduce: return Lane::collectives;
    case OpKind::send_forward:
    case OpKind::recv_forward: return Lane::p2p_forward;
    case OpKind::send_backward:
    case OpKind::recv_backward: return Lane::p2p_backward;
  }
  return Lane::compute;
}

Op forward(SegmentId s, MicroBatchId m, int step, int version) {
  return {.kind = OpKind::forward, .segment = s, .micro_batch = m, .step = step, .version = version};
}
Op backward(SegmentId s, MicroBatchId m, int step, int version) {
  return {.kind = OpKind::backward, .segment = s, .micro_batch = m, .step = step, .version = version};
}
Op send_forward(SegmentId s, MicroBatchId m, int step, Rank to) {
  return {.kind = OpKind::send_forward, .segment = s, .micro_batch = m, .step = step, .peer = to};
}
Op recv_forward(SegmentId s, MicroBatchId m, int step, Rank from) {
  return {.kind = OpKind::recv_forward, .segment = s, .micro_batch = m, .step = step, .peer = from};
}
Op send_backward(SegmentId s, MicroBatchId m, int step, Rank to) {
  return {.kind = OpKind::send_backward, .segment = s, .micro_batch = m, .step = step, .peer = to};
}
Op recv_backward(SegmentId s, MicroBatchId m, int step, Rank from) {
  return {.kind = OpKind::recv_backward, .segment = s, .micro_batch = m, .step = step, .peer = from};
}
Op all_reduce(SegmentId first, int segments, int step) {
  return {.kind = OpKind::all_reduce, .segment = first, .segments = segments, .step = step};
}
Op update(SegmentId first, int segments, int step, int version) {
  return {.kind = OpKind::update, .segment = first, .segments = segments, .step = step, .version = version};
}

bool starts_gradients(const Op& backward) { return backward.micro_batch == MicroBatchId(0); }

std::string to_text(const Op& op) {
  std::string text = std::to_string(op.segment.value);
  if (is_over_run(op.kind) && op.segments > 1) text += '-' + std::to_string(op.segment.value + op.segments - 1);
  text += name(op.kind);
  if (!is_over_run(op.kind)) text += std::to_string(op.micro_batch.value);
  return text;
}

}  // namespace parabench
