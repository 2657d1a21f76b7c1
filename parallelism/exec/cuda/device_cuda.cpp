#include <ATen/Context.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.h"
#include "parallelism/exec/cuda/block_counter.h"
#include "parallelism/exec/device.h"

namespace parabench {
namespace {

using c10::cuda::CUDAStream;
namespace allocator = c10::cuda::CUDACachingAllocator;

/// cudaEventElapsedTime is a float of milliseconds: exact to a microsecond over some seconds only. So every so many
/// marks one serves as the origin of those after it.
constexpr std::size_t marks_per_origin = 512;
constexpr int clock_looks = 20;

double elapsed_s(cudaEvent_t from, cudaEvent_t to) {
  float milliseconds = 0;
  C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, from, to));
  return 1e-3 * static_cast<double>(milliseconds);
}

/// What `work` gives to the current stream, as a CUDA graph with a memory pool of its own.
class CapturedGraph final : public CapturedWork {
 public:
  explicit CapturedGraph(const std::function<void()>& work) {
    // Threads of other ranks, and the loader's, may call CUDA meanwhile.
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      end_broken_capture();
      throw;
    }
    graph_.capture_end();
  }
  void replay() override { graph_.replay(); }

 private:
  /// The stream is of use again; that the capture is invalid is no news.
  void end_broken_capture() {
    try {
      graph_.capture_end();
    } catch (const c10::Error&) {
    }
  }

  at::cuda::CUDAGraph graph_;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(int index, Precision precision, MemoryAccount& account)
      : Device(account),
        index_(static_cast<c10::DeviceIndex>(index)),
        compute_((c10::cuda::set_device(index_), c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index_))),
        communication_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, index_)),
        counter_(account, compute_.stream(), communication_.stream()) {
    cudaDeviceProp properties;
    C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
    name_ = fmt::format("cuda:{} {}", index, properties.name);
    at::globalContext().setAllowTF32CuBLAS(precision == Precision::tf32);
    at::globalContext().setAllowTF32CuDNN(precision == Precision::tf32);
    at::globalContext().setBenchmarkCuDNN(true);
    enter(/*computes=*/true);
    set_clock();
    context_bytes_ = outside_allocator();
  }
  ~CudaDevice() override {
    for (const cudaEvent_t event : events_) cudaEventDestroy(event);
  }

  torch::Device where() const override { return {torch::kCUDA, index_}; }
  std::string name() const override { return name_; }

  void enter(bool computes) override {
    c10::cuda::set_device(index_);
    c10::cuda::setCurrentCUDAStream(computes ? compute_ : communication_);
  }

  Mark mark() override {
    if ((events_.size() - 1) % marks_per_origin == 0) origins_.push_back(events_.size() - 1);
    Mark mark{now_s(), record(), static_cast<int>(events_.size() - 1)};
    return mark;
  }
  bool reached(const Mark& mark) const override {
    const cudaError_t state = cudaEventQuery(static_cast<cudaEvent_t>(mark.event));
    if (state == cudaErrorNotReady) return false;
    C10_CUDA_CHECK(state);
    return true;
  }
  void synchronise() override {
    C10_CUDA_CHECK(cudaStreamSynchronize(compute_.stream()));
    origin_seconds_.assign(1, first_s_);
    for (std::size_t k = 1; k < origins_.size(); ++k)
      origin_seconds_.push_back(origin_seconds_.back() + elapsed_s(events_[origins_[k - 1]], events_[origins_[k]]));
  }
  double seconds(const Mark& mark) const override {
    const std::size_t origin = (static_cast<std::size_t>(mark.number) - 1) / marks_per_origin;
    return origin_seconds_[origin] + elapsed_s(events_[origins_[origin]], static_cast<cudaEvent_t>(mark.event));
  }

  torch::Tensor pinned(torch::Tensor host) const override { return host.pin_memory(); }
  void adopt(const torch::Tensor& tensor) override { allocator::recordStream(tensor.storage().data_ptr(), compute_); }

  std::unique_ptr<CapturedWork> capture(const std::function<void()>& work) override {
    C10_CUDA_CHECK(cudaStreamSynchronize(compute_.stream()));
    allocator::emptyCache();
    reset_peaks();
    return std::make_unique<CapturedGraph>(work);
  }
  void update(const SgdRule& rule, const std::vector<SgdOperands>& parameters) override {
    fused_sgd_update(rule, parameters);
  }

  void allocating(MemoryCategory category) override { counter_.allocating(category); }
  void recategorise(const torch::Tensor& tensor, MemoryCategory category) override {
    counter_.recategorise(tensor.storage().data(), category);
  }
  std::int64_t peak_reserved() const override { return reserved().peak; }
  void reset_peaks() override { allocator::resetPeakStats(index_); }
  std::int64_t outside_allocator() const override {
    std::size_t free = 0, total = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    return static_cast<std::int64_t>(total - free) - reserved().current;
  }
  std::int64_t context_bytes() const override { return context_bytes_; }

 private:
  c10::CachingAllocator::Stat reserved() const {
    const auto stats = allocator::getDeviceStats(index_);
    return stats.reserved_bytes[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
  }

  cudaEvent_t record() {
    cudaEvent_t event = nullptr;
    C10_CUDA_CHECK(cudaEventCreate(&event));
    events_.push_back(event);
    C10_CUDA_CHECK(cudaEventRecord(event, compute_.stream()));
    return event;
  }

  /// Ties the first event to the host's clock: of several looks, the one that took the least time counts.
  void set_clock() {
    double narrowest = std::numeric_limits<double>::infinity();
    for (int look = 0; look < clock_looks; ++look) {
      C10_CUDA_CHECK(cudaStreamSynchronize(compute_.stream()));
      const double before = now_s();
      const cudaEvent_t event = record();
      C10_CUDA_CHECK(cudaEventSynchronize(event));
      const double after = now_s();
      if (after - before < narrowest) {
        narrowest = after - before;
        first_s_ = (before + after) / 2;
        std::swap(events_.front(), events_.back());
      }
      while (events_.size() > 1) {
        cudaEventDestroy(events_.back());
        events_.pop_back();
      }
    }
    origins_ = {0};
  }

  c10::DeviceIndex index_;
  CUDAStream compute_, communication_;
  BlockCounter counter_;
  std::string name_;
  std::vector<cudaEvent_t> events_;   ///< the clock's, then one per mark
  std::vector<std::size_t> origins_;  ///< indices of events
  std::vector<double> origin_seconds_;
  double first_s_ = 0;
  std::int64_t context_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Device> cuda_device(int index, Precision precision, MemoryAccount& account) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || index >= count) {
    throw environment_error("GPU", std::to_string(index),
                            error == cudaSuccess ? fmt::format("one of the {} that this process sees", count)
                                                 : fmt::format("a GPU ({})", cudaGetErrorString(error)),
                            "parabench doctor tells what is missing");
  }
  return std::make_unique<CudaDevice>(index, precision, account);
}

}  // namespace parabench
