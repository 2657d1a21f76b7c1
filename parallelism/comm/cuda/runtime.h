// The CUDA runtime, every call checked, its handles owned.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace parabench::comm {

/// Throws std::runtime_error with the call and CUDA's own text unless `code` is cudaSuccess.
void check_cuda(cudaError_t code, std::string_view call);

/// "13.0" of 13000, as CUDA numbers its versions; "" of 0.
std::string cuda_version_text(int version);
/// "GPU-" and 32 hexadecimal digits in five groups, as nvidia-smi writes it.
std::string to_text(const cudaUUID_t& uuid);

struct MemoryDeleter {
  void operator()(void* memory) const noexcept { cudaFree(memory); }
};
/// On a GPU. Letting go of it waits for what runs there.
using DeviceMemory = std::unique_ptr<void, MemoryDeleter>;
/// On the thread's current GPU, with anything in it.
DeviceMemory make_memory(std::size_t bytes);

struct StreamDeleter {
  void operator()(cudaStream_t stream) const noexcept { cudaStreamDestroy(stream); }
};
using Stream = std::unique_ptr<CUstream_st, StreamDeleter>;
/// On the thread's current GPU, before its other streams in priority, in no order with the legacy default stream.
Stream make_stream();

struct EventDeleter {
  void operator()(cudaEvent_t event) const noexcept { cudaEventDestroy(event); }
};
using Event = std::unique_ptr<CUevent_st, EventDeleter>;
/// On the thread's current GPU, without a time.
Event make_event();
/// On the thread's current GPU, with the time of its passing.
Event make_timing_event();
/// Whether everything before the event's record has been done; blocks nobody and leaves no error behind.
bool has_passed(cudaEvent_t event);

}  // namespace parabench::comm
