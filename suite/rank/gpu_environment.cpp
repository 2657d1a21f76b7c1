#include "suite/rank/gpu_environment.h"

#include <cstdlib>

namespace parabench::rank {

void set_gpu_environment(const Case& spec) {
  const auto set_default = [](const char* name, const char* value) { setenv(name, value, /*replace=*/0); };
  // Each lane of messages has a stream; they have 8 queues in common otherwise.
  set_default("CUDA_DEVICE_MAX_CONNECTIONS", "32");
  // A communicator is connected for all its algorithms when it is made, and not when a sum first takes one: connecting
  // waits for the GPU, where kernels may wait for this rank (nccl#787).
  set_default("NCCL_RUNTIME_CONNECT", "0");
  // Likewise kernels are loaded with the program, and not when one is first launched beside NCCL's that wait for
  // another rank. Ranks of other communicators launch no kernel that waits, and are spared the seconds and bytes that
  // it takes.
  if (spec.comm == CommKind::nccl && spec.np > 1) set_default("CUDA_MODULE_LOADING", "EAGER");
}

}  // namespace parabench::rank
