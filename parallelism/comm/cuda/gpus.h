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

}  // namespace parabench::comm
