// What ranks send in the place of gradients (base/compression.h): its bytes, and where each tensor's part lies.
#pragma once

#include <cstdint>
#include <vector>

#include "base/compression.h"
#include "parallelism/plan/state/state_layout.h"

namespace parabench::plan {

/// Top-k sends the place of each value in one copy of the parameters.
inline constexpr int place_bytes = 4;

/// Of one rank: what it encodes, and what it makes of the sum of that (PowerSGD alone).
struct MessageBytes {
  std::int64_t encoded = 0, projected = 0;
  bool operator==(const MessageBytes&) const = default;
};

/// Of a tensor's gradient, of whose elements each has so many bytes:
///   bf16: 2 each; powersgd: P, n x rank, and Q, m x rank, of a matrix that it factors, else the tensor; topk: the
///   values that it keeps and their places, a multiple of 8.
MessageBytes message_bytes(const Compression& by, const TensorShape& tensor, int element_bytes);

/// Of a run of segments: parts of a layer lie one after the other, each layer's padded to slice_alignment_bytes, the
/// last layer first. Without the copy of a shared tie. O(tensors).
MessageBytes message_bytes(const Plan& plan, const ParameterSizes& sizes, SegmentId first, int segments);
/// The same of a run of layers.
MessageBytes message_bytes_of_layers(const Plan& plan, const ParameterSizes& sizes, int first_layer, int layers);
/// Elements of a run in matrices that PowerSGD factors. O(tensors).
std::int64_t factored_elements(const Plan& plan, const ParameterSizes& sizes, SegmentId first, int segments);

/// Bytes of the buffer that a collective works on: of the sum of messages, or, of top-k's gather, those of all members.
std::int64_t collective_bytes(const Plan& plan, const ParameterSizes& sizes, const Op& collective);

/// Where the buffers of a run begin in arenas that hold those of all segments, the last segment first.
MessageBytes message_places(const Plan& plan, const ParameterSizes& sizes, SegmentId first, int segments, int members);

}  // namespace parabench::plan
