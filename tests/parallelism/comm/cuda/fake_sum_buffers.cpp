// In place of the kernel, on the fake of CUDA.
#include <vector>

#include "parallelism/comm/cuda/sum_buffers.h"
#include "parallelism/comm/reduce.h"
#include "tests/parallelism/comm/cuda/fake_cuda.h"

namespace parabench::comm {

void sum_buffers(std::span<void* const> buffers, std::span<void* const> to, std::int64_t elements, ElementType type,
                 cudaStream_t stream) {
  std::vector<std::byte*> bytes, stored;
  for (void* const buffer : buffers) bytes.push_back(static_cast<std::byte*>(buffer));
  for (void* const buffer : to) stored.push_back(static_cast<std::byte*>(buffer));
  const Share all{0, elements * element_bytes(type)};
  fake_cuda_enqueue(stream, [=, looks = fake_cuda_looks()]() mutable {
    if (looks-- > 0) return false;
    for (const std::byte* data : bytes) fake_cuda_require_access(stream, data);
    if (stored.size() == bytes.size()) {
      sum_in_place(bytes, all, type);
    } else {
      for (std::byte* const data : stored) sum_into(data, bytes, all, type);
    }
    return true;
  });
}

}  // namespace parabench::comm
