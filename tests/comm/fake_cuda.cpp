#include "tests/comm/fake_cuda.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

#include "base/clock.h"

namespace {

thread_local int current_gpu = 0;
thread_local cudaError_t last_error = cudaSuccess;
std::atomic<int> events = 0;
std::atomic<double (*)()> device_clock{parabench::now_s};

cudaError_t outcome(cudaError_t code) {
  if (code != cudaSuccess) last_error = code;
  return code;
}

}  // namespace

struct CUevent_st {
  int gpu = current_gpu;
  bool timed = false;
  CUstream_st* stream = nullptr;
  int recorded = 0, passed = 0;
  double passed_s = 0;
};

void CUstream_st::look() {
  if (looking) return;  // a task that waits for an event looks at the stream that comes to it
  looking = true;
  while (!tasks.empty() && tasks.front()()) tasks.pop_front();
  looking = false;
}

namespace parabench {

int fake_cuda_events() { return events; }
void set_fake_cuda_clock(double (*seconds)()) { device_clock = seconds; }

int fake_cuda_looks() {
  thread_local std::mt19937 random(7);
  return static_cast<int>(random() % 3);
}

}  // namespace parabench

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }
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

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  ++events;
  *event = new CUevent_st{.timed = (flags & cudaEventDisableTiming) == 0};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  --events;
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (event->gpu != stream->gpu) return outcome(cudaErrorInvalidResourceHandle);
  event->stream = stream;
  stream->tasks.push_back([event, number = ++event->recorded] {
    event->passed = number;
    event->passed_s = device_clock.load()();
    return true;
  });
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  stream->tasks.push_back([event, number = event->recorded] {
    if (event->passed < number) event->stream->look();
    return event->passed >= number;
  });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (event->stream) event->stream->look();
  return event->passed == event->recorded ? cudaSuccess : outcome(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  while (event->passed != event->recorded) event->stream->look();
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  if (!from->timed || !to->timed) return outcome(cudaErrorInvalidResourceHandle);
  if (from->passed != from->recorded || to->passed != to->recorded) return outcome(cudaErrorNotReady);
  *milliseconds = static_cast<float>(1e3 * (to->passed_s - from->passed_s));
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  *data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return outcome(*data ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) { return cudaMalloc(data, bytes); }

cudaError_t cudaFree(void* data) {
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* data) { return cudaFree(data); }

cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned) {
  const bool whole_pages = reinterpret_cast<std::uintptr_t>(data) % 4096 == 0 && bytes % 4096 == 0 && bytes > 0;
  return outcome(whole_pages ? cudaSuccess : cudaErrorInvalidValue);
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
