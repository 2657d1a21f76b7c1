#include "parallelism/plan/op.h"

namespace parabench {

std::string_view name(OpKind kind) {
  switch (kind) {
    case OpKind::forward: return "F";
    case OpKind::backward: return "B";
    case OpKind::backward_input: return "I";
    case OpKind::backward_weight: return "W";
    case OpKind::recompute: return "RECOMPUTE";
    case OpKind::send_forward: return "SEND_F";
    case OpKind::recv_forward: return "RECV_F";
    case OpKind::send_backward: return "SEND_B";
    case OpKind::recv_backward: return "RECV_B";
    case OpKind::all_reduce: return "ALL_REDUCE";
    case OpKind::update: return "UPDATE";
  }
  return {};
}

bool is_pass(OpKind kind) { return kind <= OpKind::recompute; }
bool makes_input_gradient(OpKind kind) { return kind == OpKind::backward || kind == OpKind::backward_input; }
bool makes_weight_gradient(OpKind kind) { return kind == OpKind::backward || kind == OpKind::backward_weight; }
bool is_send(OpKind kind) { return kind == OpKind::send_forward || kind == OpKind::send_backward; }
bool is_receive(OpKind kind) { return kind == OpKind::recv_forward || kind == OpKind::recv_backward; }
bool is_message(OpKind kind) { return is_send(kind) || is_receive(kind); }
bool is_over_run(OpKind kind) { return kind == OpKind::all_reduce || kind == OpKind::update; }

Op pass(OpKind kind, SegmentId s, MicroBatchId m, int step, int version) {
  return {.kind = kind, .segment = s, .micro_batch = m, .step = step, .version = version};
}
Op forward(SegmentId s, MicroBatchId m, int step, int version) { return pass(OpKind::forward, s, m, step, version); }
Op backward(SegmentId s, MicroBatchId m, int step, int version) { return pass(OpKind::backward, s, m, step, version); }
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

SegmentId other_segment(const Op& message) {
  const bool next = message.kind == OpKind::send_forward || message.kind == OpKind::recv_backward;
  return SegmentId(message.segment.value + (next ? 1 : -1));
}

Op receive_of(const Op& send, Rank from) {
  const auto make = send.kind == OpKind::send_forward ? recv_forward : recv_backward;
  return make(other_segment(send), send.micro_batch, send.step, from);
}

std::string to_text(const Op& op) {
  std::string text = std::to_string(op.segment.value);
  if (is_over_run(op.kind) && op.segments > 1) text += '-' + std::to_string(op.segment.value + op.segments - 1);
  text += name(op.kind);
  if (!is_over_run(op.kind)) text += std::to_string(op.micro_batch.value);
  return text;
}

}  // namespace parabench
