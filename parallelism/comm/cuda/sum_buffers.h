// The sum of several buffers on a GPU, stored to all or some of them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "parallelism/comm/communicator.h"

namespace parabench::comm {

/// Buffers of one sum: their addresses travel as arguments of a kernel.
inline constexpr int most_summed = 256;

/// Replaces each of `elements` f32, f64 or bf16 elements of the buffers `to` by the sum over all `buffers` (as many as
/// most_summed), added in their order. `to` is a part of `buffers`, or all of it. The GPU of `stream`, which is the
/// thread's current one, reads every buffer once and writes each of `to` once, all of which it must be able to reach.
/// Throws std::runtime_error when the kernel cannot start.
void sum_buffers(std::span<void* const> buffers, std::span<void* const> to, std::int64_t elements, ElementType type,
                 cudaStream_t stream);

}  // namespace parabench::comm
