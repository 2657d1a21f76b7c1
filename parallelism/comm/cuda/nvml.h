// Free memory of GPUs, from the driver's management library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace parabench::comm {

/// Free bytes of the GPUs with these UUIDs ("GPU-..."), 0 where NVML is missing or does not say. Loaded at run time:
/// it comes with the driver. Unlike cudaMemGetInfo it needs no context, which would take some of that memory.
std::vector<std::int64_t> free_memory(const std::vector<std::string>& uuids);

}  // namespace parabench::comm
