#include "parallelism/comm/cuda/nvml.h"

#include <dlfcn.h>

#include <memory>

namespace parabench::comm {
namespace {

// From NVML's API reference; nvmlReturn_t is 0 for success, nvmlDevice_t a pointer.
struct NvmlMemory {
  unsigned long long total, free, used;
};
using NvmlCall = int (*)();
using NvmlFind = int (*)(const char* uuid, void** device);
using NvmlAskMemory = int (*)(void* device, NvmlMemory* memory);

struct LibraryCloser {
  void operator()(void* library) const noexcept { dlclose(library); }
};

template <class Function>
Function load(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

std::vector<std::int64_t> free_memory(const std::vector<std::string>& uuids) {
  std::vector<std::int64_t> bytes(uuids.size(), 0);
  const std::unique_ptr<void, LibraryCloser> library(dlopen("libnvidia-ml.so.1", RTLD_LAZY));
  if (!library) return bytes;
  const auto start = load<NvmlCall>(library.get(), "nvmlInit_v2");
  const auto stop = load<NvmlCall>(library.get(), "nvmlShutdown");
  const auto find = load<NvmlFind>(library.get(), "nvmlDeviceGetHandleByUUID");
  const auto ask = load<NvmlAskMemory>(library.get(), "nvmlDeviceGetMemoryInfo");
  if (!start || !stop || !find || !ask || start() != 0) return bytes;
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    void* device = nullptr;
    NvmlMemory memory{};
    // CUDA does not tell whether it shows a GPU or a slice of one.
    const bool found = find(uuids[i].c_str(), &device) == 0 || find(("MIG" + uuids[i].substr(3)).c_str(), &device) == 0;
    if (found && ask(device, &memory) == 0) bytes[i] = static_cast<std::int64_t>(memory.free);
  }
  stop();
  return bytes;
}

}  // namespace parabench::comm
