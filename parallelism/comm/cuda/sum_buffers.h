// The sum of several buffers on a GPU, stored to all of them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "parallelism/comm/communicator.h"

namespace parabench {

/// Buffers of one sum: their addresses travel as arguments of a kernel.
inline constexpr int most_summed = 256;

/// Replaces each of `elements` f32 or f64 elements of all `buffers` (as many as most_summed) by their sum, added in the
/// order of `buffers`. The GPU of `stream`, which is the thread's current one, reads every buffer once and writes it
/// once, all of which it must be able to reach. Throws std::runtime_error when the kernel cannot start.
void sum_buffers(std::span<void* const> buffers, std::int64_t elements, ElementType type, cudaStream_t stream);

}  // namespace parabench
