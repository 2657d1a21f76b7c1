// What a build without CUDA and NCCL says.
#include "base/error.h"
#include "parallelism/comm/cuda/direct.h"
#include "parallelism/comm/cuda/gpus.h"
#include "parallelism/comm/cuda/nccl.h"
#include "parallelism/comm/cuda/staged.h"

namespace parabench::comm {

GpuReport look_for_gpus() {
  return {.obstacle = "this build has no CUDA; try PARABENCH_PRESET=cuda ./parabench (needs a CUDA toolkit)"};
}

std::unique_ptr<Communicator> make_staged_communicator(Communicator&, int) {
  throw environment_error("device:cuda", "a build without CUDA", "one with CUDA", "try PARABENCH_PRESET=cuda");
}

std::unique_ptr<Communicator> make_direct_communicator(Communicator&, int) {
  throw environment_error("device:cuda", "a build without CUDA", "one with CUDA", "try PARABENCH_PRESET=cuda");
}

std::unique_ptr<Communicator> make_nccl_communicator(Communicator&, int, std::vector<MessageLane>, NcclOptions) {
  throw environment_error("comm:nccl", "a build without NCCL", "one with NCCL", "try PARABENCH_PRESET=cuda");
}

}  // namespace parabench::comm
