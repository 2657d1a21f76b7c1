#include "parallelism/comm/cuda/gpu_of.h"

#include <fmt/format.h>

#include "base/error.h"

namespace parabench::comm {

int gpu_of(int local_rank, int local_ranks, int visible, bool private_gpus, bool sharing) {
  if (visible == 0) {
    throw environment_error(fmt::format("GPU of local rank {}", local_rank), "no visible GPU", "at least one",
                            "see `nvidia-smi -L`, CUDA_VISIBLE_DEVICES and the GPUs that the job asked for");
  }
  if (local_ranks <= visible) return local_rank;
  if (visible == 1 && private_gpus) return 0;
  if (sharing) return local_rank % visible;
  throw environment_error(
      fmt::format("GPU of local rank {}", local_rank), fmt::format("{} visible for {} ranks", visible, local_ranks),
      "a GPU for each rank of the node (NCCL refuses to share one)",
      fmt::format("take np:{} on one node, or comm:mpi or comm:threads, which share GPUs; under Slurm start with "
                  "`--gpus-per-node={} --ntasks-per-node={} --gpu-bind=none`",
                  visible, local_ranks, local_ranks));
}

}  // namespace parabench::comm
