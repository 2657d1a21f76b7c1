#include "parallelism/comm/cuda/gpus.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nccl.h>

#include <cstdlib>

#include "parallelism/comm/cuda/nvml.h"
#include "parallelism/comm/cuda/runtime.h"

namespace parabench::comm {
namespace {

/// cuDNN and NCCL: 10000 * major + 100 * minor + patch.
std::string version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

/// LibTorch loads it; asking here links nothing more. It stays loaded: unloading libraries of CUDA is not safe.
std::string cudnn_version() {
  void* library = dlopen("libcudnn.so.9", RTLD_LAZY);
  if (!library) return "";
  const auto version = reinterpret_cast<std::size_t (*)()>(dlsym(library, "cudnnGetVersion"));
  return version ? version_text(version()) : "";
}

std::string nccl_version() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess ? version_text(version) : "";
}

std::string driver_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? cuda_version_text(version) : "";
}

std::string obstacle_of(cudaError_t code, const GpuReport& report) {
  if (report.driver.empty()) {
    return "no NVIDIA driver (libcuda.so.1) here; on a machine with a GPU install the driver until `nvidia-smi` works, "
           "and start containers with `--gpus all`";
  }
  if (code == cudaErrorInsufficientDriver) {
    return fmt::format("the driver serves CUDA {}, this build needs {}; install a newer driver", report.driver,
                       report.runtime);
  }
  if (code == cudaErrorNoDevice) {
    const char* chosen = std::getenv("CUDA_VISIBLE_DEVICES");
    return fmt::format(
        "the driver shows this process no GPU (CUDA_VISIBLE_DEVICES {}); see `nvidia-smi -L` and the "
        "GPUs that the job or container asked for",
        chosen ? fmt::format("is '{}'", chosen) : "is not set");
  }
  return fmt::format("{} ({}); see `nvidia-smi`, and restart the machine where the driver was updated under it",
                     cudaGetErrorString(code), cudaGetErrorName(code));
}

}  // namespace

GpuReport look_for_gpus() {
  GpuReport report{.driver = driver_version(),
                   .runtime = cuda_version_text(CUDART_VERSION),
                   .cudnn = cudnn_version(),
                   .nccl = nccl_version()};
  int count = 0;
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count == 0) code = cudaErrorNoDevice;
  std::vector<std::string> uuids;
  for (int gpu = 0; gpu < count && code == cudaSuccess; ++gpu) {
    cudaDeviceProp properties{};
    code = cudaGetDeviceProperties(&properties, gpu);
    if (code != cudaSuccess) break;
    uuids.push_back(to_text(properties.uuid));
    report.gpus.push_back({.name = properties.name,
                           .uuid = uuids.back(),
                           .capability = 10 * properties.major + properties.minor,
                           .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem)});
  }
  if (code != cudaSuccess) {
    cudaGetLastError();  // nobody else's error
    report.gpus.clear();
    report.obstacle = obstacle_of(code, report);
    return report;
  }
  const std::vector<std::int64_t> free = free_memory(uuids);
  for (std::size_t i = 0; i < free.size(); ++i) report.gpus[i].free_bytes = free[i];
  return report;
}

}  // namespace parabench::comm
