#include "parallelism/plan/op.h"

namespace parabench::plan {
namespace {

Op over_micro_batch(OpKind kind, Payload payload, SegmentId s, MicroBatchId m, StepId step) {
  return {.kind = kind, .payload = payload, .segment = s, .micro_batch = m, .step = step};
}

Op message(OpKind kind, Payload payload, SegmentId s, MicroBatchId m, StepId step, Rank peer) {
  Op op = over_micro_batch(kind, payload, s, m, step);
  op.peer = peer;
  return op;
}

Op over_run(OpKind kind, Payload payload, SegmentId first, int segments, StepId step, Rank peer, GroupId group) {
  return {.kind = kind,
          .payload = payload,
          .segment = first,
          .segments = segments,
          .step = step,
          .peer = peer,
          .group = group};
}

Op collective(OpKind kind, Payload payload, SegmentId first, int segments, StepId step, GroupId group) {
  return {.kind = kind, .payload = payload, .segment = first, .segments = segments, .step = step, .group = group};
}

Op with_version(Op op, VersionId version) {
  op.version = version;
  return op;
}

}  // namespace

Op pass(OpKind kind, SegmentId s, MicroBatchId m, StepId step, VersionId version) {
  Op op = over_micro_batch(kind, Payload::none, s, m, step);
  op.version = version;
  return op;
}
Op forward(SegmentId s, MicroBatchId m, StepId step, VersionId version) {
  return pass(OpKind::forward, s, m, step, version);
}
Op backward(SegmentId s, MicroBatchId m, StepId step, VersionId version) {
  return pass(OpKind::backward, s, m, step, version);
}
Op update(SegmentId first, int segments, StepId step, VersionId version) {
  return {.kind = OpKind::update, .segment = first, .segments = segments, .step = step, .version = version};
}
Op sharded_update(SegmentId first, int segments, StepId step, VersionId version, GroupId group) {
  Op op = update(first, segments, step, version);
  op.group = group;
  return op;
}

Op add_share(SegmentId first, int segments, MicroBatchId m, StepId step, GroupId group) {
  return {.kind = OpKind::add, .segment = first, .segments = segments, .micro_batch = m, .step = step, .group = group};
}

Op norms(SegmentId first, int segments, StepId step, GroupId group) {
  return {.kind = OpKind::norms, .segment = first, .segments = segments, .step = step, .group = group};
}

Op send_forward(SegmentId s, MicroBatchId m, StepId step, Rank to) {
  return message(OpKind::send, Payload::activation, s, m, step, to);
}
Op recv_forward(SegmentId s, MicroBatchId m, StepId step, Rank from) {
  return message(OpKind::receive, Payload::activation, s, m, step, from);
}
Op send_backward(SegmentId s, MicroBatchId m, StepId step, Rank to) {
  return message(OpKind::send, Payload::activation_gradient, s, m, step, to);
}
Op recv_backward(SegmentId s, MicroBatchId m, StepId step, Rank from) {
  return message(OpKind::receive, Payload::activation_gradient, s, m, step, from);
}

Op send_gradients(SegmentId first, int segments, StepId step, Rank to, GroupId group) {
  return over_run(OpKind::send, Payload::gradients, first, segments, step, to, group);
}
Op recv_gradients(SegmentId first, int segments, StepId step, Rank from, GroupId group) {
  return over_run(OpKind::receive, Payload::gradients, first, segments, step, from, group);
}
Op add_gradients(SegmentId first, int segments, StepId step, Rank from, GroupId group) {
  return over_run(OpKind::add, Payload::none, first, segments, step, from, group);
}
Op add_first_come(SegmentId first, int segments, StepId step, int place) {
  Op op = add_gradients(first, segments, step, Rank(-1));
  op.port = static_cast<std::uint16_t>(place);
  return op;
}
Op send_parameters(SegmentId first, int segments, StepId step, VersionId version, Rank to, GroupId group) {
  return with_version(over_run(OpKind::send, Payload::parameters, first, segments, step, to, group), version);
}
Op recv_parameters(SegmentId first, int segments, StepId step, VersionId version, Rank from, GroupId group) {
  return with_version(over_run(OpKind::receive, Payload::parameters, first, segments, step, from, group), version);
}

Op all_reduce(SegmentId first, int segments, StepId step, GroupId group) {
  return collective(OpKind::all_reduce, Payload::gradients, first, segments, step, group);
}
Op reduce_scatter(SegmentId first, int segments, StepId step, GroupId group) {
  return collective(OpKind::reduce_scatter, Payload::gradients, first, segments, step, group);
}
Op reduce_scatter_piece(SegmentId first, int segments, MicroBatchId m, StepId step, GroupId group) {
  Op op = reduce_scatter(first, segments, step, group);
  op.micro_batch = m;
  return op;
}
Op all_reduce_shares(SegmentId first, int segments, StepId step, GroupId group) {
  return collective(OpKind::all_reduce, Payload::gradient_shares, first, segments, step, group);
}
Op all_reduce_tied(SegmentId original, StepId step, GroupId group) {
  return collective(OpKind::all_reduce, Payload::tied_gradients, original, 1, step, group);
}
Op all_reduce_norms(SegmentId first, int segments, StepId step, GroupId group) {
  return collective(OpKind::all_reduce, Payload::norms, first, segments, step, group);
}
Op all_reduce_parameters(SegmentId first, int segments, StepId step, VersionId version, GroupId group) {
  return with_version(collective(OpKind::all_reduce, Payload::parameters, first, segments, step, group), version);
}
Op average(SegmentId first, int segments, StepId step, VersionId version, GroupId group) {
  Op op = update(first, segments, step, version);
  op.kind = OpKind::average;
  op.group = group;
  return op;
}
Op compression_step(OpKind kind, SegmentId first, int segments, StepId step, GroupId group) {
  return {.kind = kind, .segment = first, .segments = segments, .step = step, .group = group};
}
Op compressed_sum(OpKind kind, Payload payload, SegmentId first, int segments, StepId step, GroupId group) {
  return collective(kind, payload, first, segments, step, group);
}
Op all_gather(SegmentId first, int segments, StepId step, VersionId version, GroupId group) {
  return with_version(collective(OpKind::all_gather, Payload::parameters, first, segments, step, group), version);
}
Op broadcast(SegmentId first, int segments, StepId step, VersionId version, GroupId group, Rank root) {
  Op op = collective(OpKind::broadcast, Payload::parameters, first, segments, step, group);
  op.version = version;
  op.peer = root;
  return op;
}
Op all_reduce_forward(SegmentId s, MicroBatchId m, StepId step, GroupId group) {
  Op op = over_micro_batch(OpKind::all_reduce, Payload::activation, s, m, step);
  op.group = group;
  return op;
}
Op all_reduce_backward(SegmentId s, MicroBatchId m, StepId step, GroupId group) {
  Op op = over_micro_batch(OpKind::all_reduce, Payload::activation_gradient, s, m, step);
  op.group = group;
  return op;
}

SegmentId other_segment(const Op& message, std::span<const SkipPort> skips) {
  if (!is_of_micro_batch(message.payload)) return message.segment;
  const bool next = (message.kind == OpKind::send) == (message.payload == Payload::activation);
  if (message.port == 0) return SegmentId(message.segment.value + (next ? 1 : -1));
  const SkipPort& skip = skips[message.port - 1];
  return next ? skip.to : skip.from;
}

Op receive_of(const Op& send, Rank from, std::span<const SkipPort> skips) {
  Op receive = send;
  receive.kind = OpKind::receive;
  receive.segment = other_segment(send, skips);
  receive.peer = from;
  return receive;
}

std::string name(const Op& op) {
  std::string text(parabench::to_text(op.kind));
  switch (op.payload) {
    case Payload::none:
    case Payload::gradients: text += is_message(op.kind) ? "_GRADIENTS" : ""; break;
    case Payload::parameters: text += is_message(op.kind) || op.kind == OpKind::all_reduce ? "_PARAMETERS" : ""; break;
    case Payload::gradient_shares: text += "_SHARES"; break;
    case Payload::tied_gradients: text += "_TIED"; break;
    case Payload::norms: text += "_NORMS"; break;
    case Payload::encoded: text += "_ENCODED"; break;
    case Payload::projected: text += "_PROJECTED"; break;
    case Payload::activation: text += "_F"; break;
    case Payload::activation_gradient: text += "_B"; break;
  }
  return text;
}

std::string to_text(const Op& op) {
  std::string text = std::to_string(op.segment.value);
  if (op.segments > 1) text += '-' + std::to_string(op.segment.value + op.segments - 1);
  text += name(op);
  if (!is_over_run(op) || op.micro_batch != MicroBatchId(0)) text += std::to_string(op.micro_batch.value);
  if (op.port != 0) text += '^' + std::to_string(op.port);
  return text;
}

}  // namespace parabench::plan
