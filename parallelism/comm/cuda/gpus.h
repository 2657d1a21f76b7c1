// The GPUs of this machine as the CUDA driver shows them to this process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace parabench::comm {

struct Gpu {
  std::string name;
  std::string uuid;    ///< "GPU-..."; no two GPUs of the world have the same
  int capability = 0;  ///< 10 * major + minor: 90 for H100 and H200
  std::int64_t memory_bytes = 0;
  std::int64_t free_bytes = 0;  ///< by the driver's management library; 0 where it does not say
};

struct GpuReport {
  std::string driver;   ///< highest CUDA version that the driver serves, "13.0"; "" without a driver
  std::string runtime;  ///< CUDA version of this build, "13.0"; "" for a build without CUDA
  std::string cudnn;    ///< version that would be loaded, "" where it cannot be
  std::string nccl;     ///< version that is loaded, "2.28.9"; "" for a build without NCCL
  std::vector<Gpu> gpus;
  std::string obstacle;  ///< why no GPU can be used, with what to try; "" when there is one
};

/// Never throws and needs neither driver nor GPU. Makes no CUDA context on any GPU.
GpuReport look_for_gpus();

/// The GPU of local rank `local_rank` of `local_ranks` on this node, of `visible` ones: its own number where there are
/// as many or more; the only one where a job scheduler shows each task just its own (visible == 1 and `private_gpus`);
/// else, with `sharing` (comm:mpi and comm:threads can; NCCL refuses), in turn. Throws environment_error when several
/// ranks would have to share without it, and when none is visible.
int gpu_of(int local_rank, int local_ranks, int visible, bool private_gpus, bool sharing);

}  // namespace parabench::comm
