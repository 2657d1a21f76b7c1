#include "parallelism/exec/cuda/device_cuda.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/called.h"
#include "base/error.h"
#include "parallelism/exec/cuda/block_counter.h"
#include "parallelism/exec/cuda/event_clock.h"
#include "parallelism/exec/cuda/upload_cuda.h"
#include "parallelism/exec/optimizer/fused_operators.h"

namespace parabench::exec {
namespace {

using c10::cuda::CUDAStream;
namespace allocator = c10::cuda::CUDACachingAllocator;

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
  CudaDevice(int index, Precision precision, bool tuned, MemoryAccount& account)
      : Device(account),
        index_(static_cast<c10::DeviceIndex>(index)),
        compute_((c10::cuda::set_device(index_), c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index_))),
        communication_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, index_)),
        copy_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, index_)),
        counter_(account, compute_.stream(), {communication_.stream(), copy_.stream()}),
        clock_(compute_.stream()) {
    cudaDeviceProp properties;
    C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
    name_ = fmt::format("cuda:{} {}", index, properties.name);
    at::globalContext().setAllowTF32CuBLAS(precision == Precision::tf32);
    at::globalContext().setAllowTF32CuDNN(precision == Precision::tf32);
    at::globalContext().setBenchmarkCuDNN(tuned);
    enter(/*computes=*/true);
    context_bytes_ = outside_allocator();
  }

  torch::Device where() const override { return {torch::kCUDA, index_}; }
  std::string name() const override { return name_; }

  void expect_marks(int count) override { clock_.reserve(count); }
  Mark mark() override {
    const EventClock::Point point = clock_.mark();
    return {.event = point.event, .number = point.number};
  }
  bool reached(const Mark& mark) const override { return comm::has_passed(static_cast<cudaEvent_t>(mark.event)); }
  void wait(const comm::DeviceEvent& event) override {
    C10_CUDA_CHECK(cudaStreamWaitEvent(compute_.stream(), static_cast<cudaEvent_t>(event.get()), 0));
  }
  comm::DeviceEvent copy(torch::Tensor& to, const torch::Tensor& from, void* ready) override {
    const comm::DeviceEvent given_out = ready ? nullptr : event_after(compute_);
    C10_CUDA_CHECK(
        cudaStreamWaitEvent(communication_.stream(), static_cast<cudaEvent_t>(ready ? ready : given_out.get()), 0));
    const c10::cuda::CUDAStreamGuard queue(communication_);
    to.copy_(from, /*non_blocking=*/true);
    return event_after(communication_);
  }
  void synchronise() override { clock_.synchronise(); }
  double seconds(const Mark& mark) const override { return clock_.seconds(mark.number); }
  double event_seconds(const comm::DeviceEvent& event) const override {
    return clock_.seconds(static_cast<cudaEvent_t>(event.get()));
  }

  std::unique_ptr<Upload> upload(const LargestPiece& largest) override { return cuda_upload(largest, copy_, compute_); }
  void adopt(const torch::Tensor& tensor) override { allocator::recordStream(tensor.storage().data_ptr(), compute_); }

  std::unique_ptr<CapturedWork> capture(const std::function<void()>& work) override {
    C10_CUDA_CHECK(cudaStreamSynchronize(compute_.stream()));
    release_unused();
    reset_peaks();
    return std::make_unique<CapturedGraph>(work);
  }
  void update(const OptimizerRule& rule, const std::vector<UpdateOperands>& parameters) override {
    update_by_operators(rule, parameters);
  }

  void allocating(MemoryCategory category) override {
    // What other streams allocate has a category of its own.
    if (c10::cuda::getCurrentCUDAStream(index_) == compute_) counter_.allocating(category);
  }
  void recategorise(const torch::Tensor& tensor, MemoryCategory category) override {
    counter_.recategorise(tensor.storage().data(), category);
  }
  std::int64_t peak_reserved() const override { return counter_.peak_reserved(); }
  void reset_peaks() override { counter_.reset_peak(); }
  void release_unused() override { allocator::emptyCache(); }
  std::int64_t outside_allocator() const override {
    constexpr int most_tries = 100;
    for (int tries = 1;; ++tries) {
      const Held before = held();
      const std::int64_t all = used();
      const Held after = held();
      if (after.changes == before.changes) return all - before.bytes;
      // Another rank's thread took or gave back a segment meanwhile; of one that never rests, the least that it can be.
      if (tries == most_tries) return std::max<std::int64_t>(0, all - std::max(before.bytes, after.bytes));
    }
  }
  std::int64_t used() const override {
    std::size_t free = 0, total = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    return static_cast<std::int64_t>(total - free);
  }
  std::int64_t context_bytes() const override { return context_bytes_; }

 private:
  static comm::DeviceEvent event_after(const CUDAStream& stream) {
    cudaEvent_t event = nullptr;
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    comm::DeviceEvent owned(event, [](void* made) { cudaEventDestroy(static_cast<cudaEvent_t>(made)); });
    C10_CUDA_CHECK(cudaEventRecord(event, stream.stream()));
    return owned;
  }

  void enter_queue(bool computes) override {
    c10::cuda::set_device(index_);
    c10::cuda::setCurrentCUDAStream(computes ? compute_ : communication_);
  }

  /// Segments of all ranks of the process on this GPU, and how often one was taken or given back.
  struct Held {
    std::int64_t bytes, changes;
  };
  Held held() const {
    const auto stats = allocator::getDeviceStats(index_);
    return {stats.reserved_bytes[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)].current,
            stats.num_device_alloc + stats.num_device_free};
  }

  c10::DeviceIndex index_;
  CUDAStream compute_, communication_, copy_;
  BlockCounter counter_;
  EventClock clock_;
  std::string name_;
  std::int64_t context_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Device> cuda_device(int index, Precision precision, bool tuned, MemoryAccount& account) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || index >= count) {
    cudaGetLastError();  // told below
    throw environment_error("GPU", std::to_string(index),
                            error == cudaSuccess ? fmt::format("one of the {} that this process sees", count)
                                                 : fmt::format("a GPU ({})", cudaGetErrorString(error)),
                            to_type("doctor tells what is missing"));
  }
  return std::make_unique<CudaDevice>(index, precision, tuned, account);
}

}  // namespace parabench::exec
