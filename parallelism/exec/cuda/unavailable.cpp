#include "base/error.h"
#include "parallelism/exec/cuda/device_cuda.h"

namespace parabench::exec {

std::unique_ptr<Device> cuda_device(int index, Precision, bool, MemoryAccount&) {
  throw environment_error("device", "cuda:" + std::to_string(index), "a build with CUDA",
                          "PARABENCH_PRESET=cuda ./parabench ...");
}

}  // namespace parabench::exec
