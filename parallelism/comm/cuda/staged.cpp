#include "parallelism/comm/cuda/staged.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "parallelism/comm/cuda/event_pool.h"
#include "parallelism/comm/cuda/runtime.h"
#include "parallelism/comm/cuda/staged_communicator.h"

namespace parabench::comm {
namespace {

class CudaStaging final : public StagingDevice {
 public:
  explicit CudaStaging(int gpu) : gpu_(gpu) {
    use_gpu();
    out_ = make_stream();
    in_ = make_stream();
  }

  ~CudaStaging() override {
    cudaSetDevice(gpu_);
    for (void* data : on_device_) cudaFree(data);
    for (void* data : on_host_) cudaFreeHost(data);
    for (const Range& range : registered_) cudaHostUnregister(range.begin);
  }

  std::byte* allocate(std::int64_t bytes) override {
    use_gpu();
    const std::int64_t size = std::max<std::int64_t>(bytes, 1);
    void* data = nullptr;
    require(cudaMalloc(&data, size), "memory of the GPU", size, "a smaller model or batch, or fewer ranks per GPU");
    on_device_.push_back(data);
    check_cuda(cudaMemsetAsync(data, 0, size, in_.get()), "cudaMemsetAsync");
    check_cuda(cudaStreamSynchronize(in_.get()), "cudaStreamSynchronize");
    return static_cast<std::byte*>(data);
  }

  std::byte* allocate_pinned(std::int64_t bytes) override {
    use_gpu();
    void* data = nullptr;
    require(cudaHostAlloc(&data, bytes, cudaHostAllocDefault), "pinned memory of the host", bytes, pinning_hint);
    on_host_.push_back(data);
    return static_cast<std::byte*>(data);
  }

  void pin(std::byte* data, std::int64_t bytes) override {
    if (bytes == 0) return;
    use_gpu();
    // Whole pages, none of them twice: CUDA refuses both.
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    Range range{data - address % page, data + bytes};
    range.end += (page - reinterpret_cast<std::uintptr_t>(range.end) % page) % page;
    for (const Range& other : registered_) {
      if (other.begin <= range.begin && range.begin < other.end) range.begin = other.end;
    }
    if (range.begin >= range.end) return;
    require(cudaHostRegister(range.begin, range.end - range.begin, cudaHostRegisterDefault), "pinning host memory",
            bytes, pinning_hint);
    registered_.push_back(range);
  }

  Work copy_out(std::byte* host, const std::byte* device, std::int64_t bytes, void* ready) override {
    return copy(out_, ready, host, bytes, [&](std::int64_t begin, std::int64_t size) {
      return cudaMemcpyAsync(host + begin, device + begin, size, cudaMemcpyDeviceToHost, out_.get());
    });
  }

  Work copy_in(std::byte* device, const std::byte* host, std::int64_t bytes, void* ready) override {
    return copy(in_, ready, host, bytes, [&](std::int64_t begin, std::int64_t size) {
      return cudaMemcpyAsync(device + begin, host + begin, size, cudaMemcpyHostToDevice, in_.get());
    });
  }

 private:
  /// Memory of the host in whole pages.
  struct Range {
    std::byte *begin, *end;
  };

  class Copy final : public WorkState {
   public:
    explicit Copy(DeviceSpan span) : span_(std::move(span)) {}
    ~Copy() override {
      if (!done_) cudaEventSynchronize(cuda_event(span_.end));
    }
    bool queued() override { return true; }
    bool advance() override { return done_ = done_ || has_passed(cuda_event(span_.end)); }
    DeviceSpan device_span() const override { return span_; }

   private:
    DeviceSpan span_;
    bool done_ = false;
  };

  static constexpr std::string_view pinning_hint =
      "fewer or smaller ranks on this node; see `ulimit -l` and the memory limit of the job or container";

  static void require(cudaError_t code, std::string_view what, std::int64_t bytes, std::string_view hint) {
    if (code == cudaSuccess) return;
    cudaGetLastError();
    throw environment_error(what, fmt::format("{} bytes ({})", bytes, cudaGetErrorString(code)), "that much memory",
                            hint);
  }

  /// Any thread of the rank may call, and each has a current GPU of its own.
  void use_gpu() const { check_cuda(cudaSetDevice(gpu_), "cudaSetDevice"); }

  /// `copy_part(begin, size)` for each part of the host's memory that was registered at once: CUDA refuses a copy from
  /// one registration into the next.
  template <class CopyPart>
  Work copy(const Stream& stream, void* ready, const std::byte* host, std::int64_t bytes, CopyPart copy_part) {
    use_gpu();
    wait_for(stream, ready);
    DeviceSpan span{.start = events_.record(stream)};
    for (std::int64_t begin = 0, size = 0; begin < bytes; begin += size) {
      size = std::min(bytes - begin, registered_after(host + begin));
      check_cuda(copy_part(begin, size), "cudaMemcpyAsync");
    }
    span.end = events_.record(stream);
    return Work(std::make_unique<Copy>(std::move(span)));
  }

  /// Bytes up to the end of the range that the address is in; without end: it is in none.
  std::int64_t registered_after(const std::byte* address) const {
    const std::less_equal<> before;
    for (const Range& range : registered_)
      if (before(range.begin, address) && !before(range.end, address)) return range.end - address;
    return std::numeric_limits<std::int64_t>::max();
  }

  int gpu_;
  Stream out_, in_;  // a GPU copies both ways at the same time
  EventPool events_;
  std::vector<void*> on_device_, on_host_;
  std::vector<Range> registered_;
};

}  // namespace

std::unique_ptr<Communicator> make_staged_communicator(Communicator& host, int gpu) {
  return std::make_unique<StagedCommunicator>(host, std::make_unique<CudaStaging>(gpu));
}

}  // namespace parabench::comm
