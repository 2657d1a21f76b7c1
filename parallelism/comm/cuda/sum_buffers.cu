#include <cuda_bf16.h>

#include <algorithm>

#include "parallelism/comm/cuda/runtime.h"
#include "parallelism/comm/cuda/sum_buffers.h"

namespace parabench::comm {
namespace {

constexpr int threads = 256;
/// Enough to fill the memory system of a large GPU; the rest of its multiprocessors stays with the computing stream.
constexpr std::int64_t most_blocks = 256;

/// What values are added up in.
template <class T>
struct Sum {
  using type = T;
};
template <>
struct Sum<__nv_bfloat16> {
  using type = float;
};

template <class T>
struct Buffers {
  T* of[most_summed];
};

template <class T>
__global__ void sum_kernel(Buffers<T> buffers, int count, int first_stored, int end_stored, std::int64_t elements) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements; i += step) {
    using Wide = typename Sum<T>::type;
    Wide sum = static_cast<Wide>(buffers.of[0][i]);
    for (int k = 1; k < count; ++k) sum += static_cast<Wide>(buffers.of[k][i]);
    for (int k = first_stored; k < end_stored; ++k) buffers.of[k][i] = static_cast<T>(sum);
  }
}

template <class T>
void launch(std::span<void* const> buffers, std::span<void* const> to, std::int64_t elements, cudaStream_t stream) {
  Buffers<T> arguments{};
  for (std::size_t k = 0; k < buffers.size(); ++k) arguments.of[k] = static_cast<T*>(buffers[k]);
  const auto blocks = static_cast<unsigned>(std::min((elements + threads - 1) / threads, most_blocks));
  const auto first_stored = static_cast<int>(to.data() - buffers.data());
  sum_kernel<<<blocks, threads, 0, stream>>>(arguments, static_cast<int>(buffers.size()), first_stored,
                                             first_stored + static_cast<int>(to.size()), elements);
  check_cuda(cudaGetLastError(), "the kernel that sums buffers");
}

}  // namespace

void sum_buffers(std::span<void* const> buffers, std::span<void* const> to, std::int64_t elements, ElementType type,
                 cudaStream_t stream) {
  if (elements == 0 || buffers.size() < 2) return;
  switch (type) {
    case ElementType::f64: return launch<double>(buffers, to, elements, stream);
    case ElementType::bf16: return launch<__nv_bfloat16>(buffers, to, elements, stream);
    case ElementType::f32:
    case ElementType::byte: return launch<float>(buffers, to, elements, stream);
  }
}

}  // namespace parabench::comm
