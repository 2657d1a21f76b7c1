#include "tests/comm/fake_cuda.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>

namespace {

thread_local int current_gpu = 0;

}  // namespace

struct CUevent_st {
  int gpu = current_gpu;
  CUstream_st* stream = nullptr;
  int recorded = 0, passed = 0;
};

void CUstream_st::look() {
  while (!tasks.empty() && tasks.front()()) tasks.pop_front();
}

namespace parabench {

int fake_cuda_looks() {
  thread_local std::mt19937 random(7);
  return static_cast<int>(random() % 3);
}

}  // namespace parabench

extern "C" {

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error of the fake"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorFake"; }

cudaError_t cudaSetDevice(int gpu) {
  current_gpu = gpu;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int gpu) {
  *properties = {};
  properties->uuid.bytes[15] = static_cast<char>(gpu);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  *stream = new CUstream_st{.gpu = current_gpu, .tasks = {}};
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  while (!stream->tasks.empty()) stream->look();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (event->gpu != stream->gpu) return cudaErrorInvalidResourceHandle;
  event->stream = stream;
  stream->tasks.push_back([event, number = ++event->recorded] {
    event->passed = number;
    return true;
  });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  event->stream->look();
  return event->passed == event->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  while (cudaEventQuery(event) == cudaErrorNotReady) {
  }
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  *data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *data ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) { return cudaMalloc(data, bytes); }

cudaError_t cudaFree(void* data) {
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* data) { return cudaFree(data); }

cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned) {
  const bool whole_pages = reinterpret_cast<std::uintptr_t>(data) % 4096 == 0 && bytes % 4096 == 0 && bytes > 0;
  return whole_pages ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  stream->tasks.push_back([=] {
    std::memset(data, value, bytes);
    return true;
  });
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  stream->tasks.push_back([=, looks = parabench::fake_cuda_looks()]() mutable {
    if (looks-- > 0) return false;
    if (bytes > 0) std::memcpy(to, from, bytes);
    return true;
  });
  return cudaSuccess;
}

}  // extern "C"
