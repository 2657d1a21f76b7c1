#include "parallelism/comm/cuda/runtime.h"

#include <fmt/format.h>

#include <stdexcept>

namespace parabench::comm {

void check_cuda(cudaError_t code, std::string_view call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // else the next caller's check finds it, too
  throw std::runtime_error(fmt::format("{}: {} ({})", call, cudaGetErrorString(code), cudaGetErrorName(code)));
}

std::string cuda_version_text(int version) {
  return version == 0 ? "" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string to_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

DeviceMemory make_memory(std::size_t bytes) {
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
  return DeviceMemory(memory);
}

Stream make_stream() {
  int least = 0, greatest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "cudaStreamCreateWithPriority");
  return Stream(stream);
}

namespace {

Event make_event(unsigned flags) {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags");
  return Event(event);
}

}  // namespace

Event make_event() { return make_event(cudaEventDisableTiming); }
Event make_timing_event() { return make_event(cudaEventDefault); }

bool has_passed(cudaEvent_t event) {
  const cudaError_t state = cudaEventQuery(event);
  if (state == cudaErrorNotReady) {
    cudaGetLastError();  // it counts as an error until somebody asks
    return false;
  }
  check_cuda(state, "an earlier operation on the GPU");
  return true;
}

}  // namespace parabench::comm
