#include "parallelism/exec/cuda/upload_cuda.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "parallelism/exec/cuda/upload_slots.h"
#include "parallelism/plan/input_pieces.h"

namespace parabench::exec {
namespace {

using c10::cuda::CUDAStream;

class CudaUpload final : public Upload {
 public:
  CudaUpload(const LargestPiece& largest, CUDAStream copy, CUDAStream compute)
      : sample_(largest.sample),
        labels_(largest.labels),
        copy_(copy),
        slots_(plan::upload_slots, copy.stream(), compute.stream()) {
    const c10::cuda::CUDAStreamGuard on_copy_stream(copy);
    const auto here = torch::TensorOptions(copy.device());
    for (int slot = 0; slot < plan::upload_slots; ++slot) {
      const std::int64_t values = largest.images ? largest.samples * sample_.elements() : 0;
      memory_.push_back({torch::empty({values}, here.dtype(loaded_type(sample_))),
                         torch::empty({largest.samples * labels_.elements()}, here.dtype(torch::kInt64))});
      // The slots' memory may be given back with reads of the compute stream still to come.
      for (const torch::Tensor& tensor : {memory_.back().images, memory_.back().labels})
        c10::cuda::CUDACachingAllocator::recordStream(tensor.storage().data_ptr(), compute);
    }
  }

  datasets::HostMemory host_memory() const override {
    return [device = copy_.device_index()](std::size_t bytes) {
      // A loader's thread has no GPU of its own choice, and must not begin one on another.
      const c10::cuda::CUDAGuard guard(device);
      const auto block = std::make_shared<at::DataPtr>(at::getHostAllocator(at::kCUDA)->allocate(bytes));
      return std::shared_ptr<void>(block, block->get());
    };
  }

  PieceTensors arrive(datasets::LoadedPiece piece) override {
    const PieceTensors& slot = memory_[static_cast<std::size_t>(slots_.next())];
    std::vector<UploadSlots::Copy> copies{{slot.labels.data_ptr(), piece.labels.data(), piece.labels.size_bytes()}};
    if (piece.has_values()) {
      const auto add = [&](auto span) { copies.push_back({slot.images.data_ptr(), span.data(), span.size_bytes()}); };
      std::visit(add, piece.values);
    }
    slots_.fill(copies);
    // The allocator gives the memory out again, after this function has let go of it, once the stream has come here.
    for (const UploadSlots::Copy& copy : copies) keep_until_copied(const_cast<void*>(copy.from));
    PieceTensors arrived{{}, samples_in(slot.labels, labels_, piece.samples)};
    if (piece.has_values()) arrived.images = samples_in(slot.images, sample_, piece.samples);
    return arrived;
  }

  void taken() override { slots_.taken(); }

 private:
  void keep_until_copied(void* data) const {
    if (!at::getHostAllocator(at::kCUDA)->record_event(data, nullptr, copy_.unwrap()))
      throw std::logic_error("a piece in memory that the upload did not give");
  }

  TensorSpec sample_, labels_;
  CUDAStream copy_;
  std::vector<PieceTensors> memory_;  ///< of the slots, flat
  UploadSlots slots_;
};

}  // namespace

std::unique_ptr<Upload> cuda_upload(const LargestPiece& largest, CUDAStream copy, CUDAStream compute) {
  return std::make_unique<CudaUpload>(largest, copy, compute);
}

}  // namespace parabench::exec
