// Summing buffers of several ranks in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "parallelism/comm/communicator.h"

namespace parabench {

/// [begin, end) in bytes of a buffer.
struct Share {
  std::int64_t begin = 0, end = 0;
  std::int64_t bytes() const { return end - begin; }
  bool operator==(const Share&) const = default;
};

/// The part of a buffer that the member at `position` of `members` reduces: consecutive, whole 64-byte lines but for
/// the buffer's end; sizes differ by one line at most.
Share share_of(std::int64_t bytes, int members, int position);

/// Replaces the bytes `part` of every buffer by their sum over the buffers, added in the order of `buffers`, so
/// that the result does not depend on who computes it. `type` is f32 or f64; `part` holds whole elements. One
/// pass over memory: each buffer is read once and written once.
void sum_in_place(std::span<std::byte* const> buffers, Share part, ElementType type);

}  // namespace parabench
