// Summing buffers of several ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/shares.h"

namespace parabench::comm {

/// Replaces the bytes `part` of every buffer by their sum over the buffers, added in the order of `buffers`, so
/// that the result does not depend on who computes it. `type` is not byte; `part` holds whole elements. One
/// pass over memory: each buffer is read once and written once.
void sum_in_place(std::span<std::byte* const> buffers, Share part, ElementType type);

/// The same sum, bit for bit, stored to the bytes `part` of `to` alone: one of the buffers, or memory apart from all of
/// them.
void sum_into(std::byte* to, std::span<std::byte* const> buffers, Share part, ElementType type);

}  // namespace parabench::comm
