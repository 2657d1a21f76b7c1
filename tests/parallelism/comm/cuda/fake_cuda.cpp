#include "tests/parallelism/comm/cuda/fake_cuda.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

thread_local int current_gpu = 0;
thread_local cudaError_t last_error = cudaSuccess;
std::atomic<int> events = 0;
std::atomic<double (*)()> device_clock{parabench::now_s};

/// Memory of a GPU.
struct Block {
  int gpu = 0;
  std::size_t bytes = 0;
};

// Under the mutex:
std::vector<CUstream_st*> streams;
std::map<const std::byte*, Block> blocks;
std::map<const std::byte*, std::size_t> registered;  // memory of the host, and its bytes
std::set<const void*> left_to_nccl;
std::set<std::pair<int, int>> peers;
bool peer_access = true;

cudaError_t outcome(cudaError_t code) {
  if (code != cudaSuccess) last_error = code;
  return code;
}

[[noreturn]] void end_program(const char* reason) {
  std::fprintf(stderr, "the fake of CUDA: %s\n", reason);
  std::abort();
}

/// Whether memory begins in what was registered together and ends outside of it, which CUDA does not copy.
bool leaves_its_registration(const void* memory, std::size_t bytes) {
  const Lock lock(parabench::comm::fake_cuda_mutex());
  const auto* const data = static_cast<const std::byte*>(memory);
  auto range = registered.upper_bound(data);
  if (range == registered.begin()) return false;
  --range;
  const std::less<> before;
  const std::byte* const end = range->first + range->second;
  return before(data, end) && before(end, data + bytes);
}

/// All GPUs go on as far as they can.
void look() {
  const Lock lock(parabench::comm::fake_cuda_mutex());
  for (CUstream_st* stream : streams) stream->look();
  std::erase_if(streams, [](CUstream_st* stream) {
    const bool gone = stream->destroyed && stream->tasks.empty();
    if (gone) delete stream;
    return gone;
  });
}

template <class Condition>
void look_until(Condition condition) {
  for (;;) {
    {
      const Lock lock(parabench::comm::fake_cuda_mutex());
      if (condition()) return;
    }
    look();
  }
}

/// What remains of an event that somebody waits for.
struct Record {
  int recorded = 0, passed = 0;
  double passed_s = 0;
};

}  // namespace

struct CUevent_st {
  int gpu = current_gpu;
  bool timed = false;
  std::shared_ptr<Record> record = std::make_shared<Record>();
  bool passed() const { return record->passed == record->recorded; }
};

void CUstream_st::look() {
  const Lock lock(parabench::comm::fake_cuda_mutex());
  while (!tasks.empty() && tasks.front()()) tasks.pop_front();
}

namespace parabench::comm {

std::recursive_mutex& fake_cuda_mutex() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

void fake_cuda_enqueue(cudaStream_t stream, std::function<bool()> task) {
  const Lock lock(fake_cuda_mutex());
  stream->tasks.push_back(std::move(task));
}

void fake_cuda_leave_to_nccl(const void* memory) {
  const Lock lock(fake_cuda_mutex());
  left_to_nccl.insert(memory);
}

void set_fake_cuda_peer_access(bool offered) {
  const Lock lock(fake_cuda_mutex());
  peer_access = offered;
  peers.clear();
}

int fake_cuda_events() { return events; }
void set_fake_cuda_clock(double (*seconds)()) { device_clock = seconds; }

int fake_cuda_looks() {
  thread_local std::mt19937 random(7);
  return static_cast<int>(random() % 3);
}

void fake_cuda_require_access(cudaStream_t stream, const void* data) {
  const Lock lock(fake_cuda_mutex());
  const auto after = blocks.upper_bound(static_cast<const std::byte*>(data));
  if (after == blocks.begin()) return;
  const auto& [begin, block] = *std::prev(after);
  const bool inside = data < begin + block.bytes;
  if (inside && block.gpu != stream->gpu && !peers.contains({stream->gpu, block.gpu}))
    end_program("a kernel touches memory of another GPU without peer access");
}

}  // namespace parabench::comm

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
  const Lock lock(parabench::comm::fake_cuda_mutex());
  streams.push_back(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  look_until([=] { return stream->tasks.empty(); });
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  look();
  const Lock lock(parabench::comm::fake_cuda_mutex());
  return stream->tasks.empty() ? cudaSuccess : outcome(cudaErrorNotReady);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(parabench::comm::fake_cuda_mutex());
  if (stream->left_to_nccl) end_program("a stream is destroyed that a thread of NCCL may still use");
  stream->destroyed = true;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(parabench::comm::fake_cuda_mutex());
  stream->tasks.push_back(
      [record = event->record, number = event->record->recorded] { return record->passed >= number; });
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
  const Lock lock(parabench::comm::fake_cuda_mutex());
  stream->tasks.push_back([record = event->record, number = ++event->record->recorded] {
    record->passed = number;
    record->passed_s = device_clock.load()();
    return true;
  });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  look();
  const Lock lock(parabench::comm::fake_cuda_mutex());
  return event->passed() ? cudaSuccess : outcome(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  look_until([=] { return event->passed(); });
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  if (!from->timed || !to->timed || from->gpu != to->gpu) return outcome(cudaErrorInvalidResourceHandle);
  const Lock lock(parabench::comm::fake_cuda_mutex());
  if (!from->passed() || !to->passed()) return outcome(cudaErrorNotReady);
  *milliseconds = static_cast<float>(1e3 * (to->record->passed_s - from->record->passed_s));
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  const Lock lock(parabench::comm::fake_cuda_mutex());
  *can = peer_access ? 1 : 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int other, unsigned) {
  const Lock lock(parabench::comm::fake_cuda_mutex());
  if (!peer_access) return outcome(cudaErrorPeerAccessUnsupported);
  return outcome(peers.insert({current_gpu, other}).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled);
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  *data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  const Lock lock(parabench::comm::fake_cuda_mutex());
  left_to_nccl.erase(*data);  // that was other memory
  if (*data) blocks[static_cast<std::byte*>(*data)] = {current_gpu, bytes};
  return outcome(*data ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) { return cudaMalloc(data, bytes); }

cudaError_t cudaFree(void* data) {
  const Lock lock(parabench::comm::fake_cuda_mutex());
  if (left_to_nccl.contains(data)) end_program("memory is freed that a thread of NCCL may still use");
  blocks.erase(static_cast<std::byte*>(data));
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* data) { return cudaFree(data); }

cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  std::memset(data, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned) {
  const bool whole_pages = reinterpret_cast<std::uintptr_t>(data) % 4096 == 0 && bytes % 4096 == 0 && bytes > 0;
  if (!whole_pages) return outcome(cudaErrorInvalidValue);
  const Lock lock(parabench::comm::fake_cuda_mutex());
  registered[static_cast<const std::byte*>(data)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* data) {
  const Lock lock(parabench::comm::fake_cuda_mutex());
  registered.erase(static_cast<const std::byte*>(data));
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  parabench::comm::fake_cuda_enqueue(stream, [=] {
    std::memset(data, value, bytes);
    return true;
  });
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  if (leaves_its_registration(to, bytes) || leaves_its_registration(from, bytes)) return outcome(cudaErrorInvalidValue);
  parabench::comm::fake_cuda_enqueue(stream, [=, looks = parabench::comm::fake_cuda_looks()]() mutable {
    if (looks-- > 0) return false;
    if (bytes > 0) std::memcpy(to, from, bytes);
    return true;
  });
  return cudaSuccess;
}

}  // extern "C"
