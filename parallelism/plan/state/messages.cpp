#include "parallelism/plan/state/messages.h"

namespace parabench::plan {
namespace {

std::int64_t rounded_up(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Calls `visit` with each tensor of a layer that lies on the rank.
template <class Visit>
void for_each_tensor(const Plan& plan, const ParameterSizes& sizes, int layer, Visit visit) {
  for (const TensorShape& tensor : sizes.tensors_of(layer))
    if (!tensor.is_copy || !plan.tie || !plan.tie->shared) visit(tensor);
}

int end_layer(const Plan& plan, SegmentId segment) {
  const Segment& run = plan.segments[segment.value];
  return run.first_layer + run.layers;
}

}  // namespace

MessageBytes message_bytes(const Compression& by, const TensorShape& tensor, int element_bytes) {
  constexpr int bf16_bytes = 2;
  switch (by.kind) {
    case CompressionKind::none: return {};
    case CompressionKind::bf16: return {.encoded = bf16_bytes * tensor.elements()};
    case CompressionKind::powersgd:
      if (!by.factors(tensor.rows, tensor.columns)) return {.encoded = element_bytes * tensor.elements()};
      return {element_bytes * tensor.rows * by.rank, element_bytes * tensor.columns * by.rank};
    case CompressionKind::topk:
      return {.encoded = rounded_up((element_bytes + place_bytes) * by.kept(tensor.elements()), sizeof(double))};
  }
  return {};
}

MessageBytes message_bytes_of_layers(const Plan& plan, const ParameterSizes& sizes, int first_layer, int layers) {
  const Compression by = compression(plan.spec);
  const int element = parameter_bytes(plan.spec.precision);
  MessageBytes sum;
  for (int layer = first_layer; layer < first_layer + layers; ++layer) {
    MessageBytes of_layer;
    for_each_tensor(plan, sizes, layer, [&](const TensorShape& tensor) {
      const MessageBytes part = message_bytes(by, tensor, element);
      of_layer.encoded += part.encoded;
      of_layer.projected += part.projected;
    });
    sum.encoded += rounded_up(of_layer.encoded, slice_alignment_bytes);
    sum.projected += rounded_up(of_layer.projected, slice_alignment_bytes);
  }
  return sum;
}

MessageBytes message_bytes(const Plan& plan, const ParameterSizes& sizes, SegmentId first, int segments) {
  const int layer = plan.segments[first.value].first_layer;
  return message_bytes_of_layers(plan, sizes, layer, end_layer(plan, SegmentId(first.value + segments - 1)) - layer);
}

std::int64_t factored_elements(const Plan& plan, const ParameterSizes& sizes, SegmentId first, int segments) {
  const Compression by = compression(plan.spec);
  std::int64_t sum = 0;
  const int end = end_layer(plan, SegmentId(first.value + segments - 1));
  for (int layer = plan.segments[first.value].first_layer; layer < end; ++layer) {
    for_each_tensor(plan, sizes, layer, [&](const TensorShape& tensor) {
      if (by.factors(tensor.rows, tensor.columns)) sum += tensor.elements();
    });
  }
  return sum;
}

std::int64_t collective_bytes(const Plan& plan, const ParameterSizes& sizes, const Op& collective) {
  const MessageBytes own = message_bytes(plan, sizes, collective.segment, collective.segments);
  if (collective.payload == Payload::projected) return own.projected;
  const bool gathers = collective.kind == OpKind::all_gather;
  return own.encoded * (gathers ? std::ssize(plan.groups[collective.group.value].ranks) : 1);
}

MessageBytes message_places(const Plan& plan, const ParameterSizes& sizes, SegmentId first, int segments, int members) {
  const int layer = end_layer(plan, SegmentId(first.value + segments - 1));
  const MessageBytes behind = message_bytes_of_layers(plan, sizes, layer, end_layer(plan, last_segment(plan)) - layer);
  return {behind.encoded * members, behind.projected};
}

}  // namespace parabench::plan
