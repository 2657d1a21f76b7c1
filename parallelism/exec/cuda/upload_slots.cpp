#include "parallelism/exec/cuda/upload_slots.h"

namespace parabench::exec {

UploadSlots::UploadSlots(int count, cudaStream_t copy, cudaStream_t compute)
    : slots_(static_cast<std::size_t>(count)), copy_(copy), compute_(compute) {
  for (Slot& slot : slots_) slot = {comm::make_event(), comm::make_event()};
}

void UploadSlots::fill(std::span<const Copy> copies) {
  const Slot& slot = slots_[static_cast<std::size_t>(next_)];
  // Events that were never recorded have passed.
  comm::check_cuda(cudaEventSynchronize(slot.filled.get()), "cudaEventSynchronize");
  comm::check_cuda(cudaStreamWaitEvent(copy_, slot.taken.get(), 0), "cudaStreamWaitEvent");
  for (const Copy& copy : copies) {
    comm::check_cuda(cudaMemcpyAsync(copy.to, copy.from, copy.bytes, cudaMemcpyHostToDevice, copy_), "cudaMemcpyAsync");
  }
  comm::check_cuda(cudaEventRecord(slot.filled.get(), copy_), "cudaEventRecord");
  comm::check_cuda(cudaStreamWaitEvent(compute_, slot.filled.get(), 0), "cudaStreamWaitEvent");
}

void UploadSlots::taken() {
  comm::check_cuda(cudaEventRecord(slots_[static_cast<std::size_t>(next_)].taken.get(), compute_), "cudaEventRecord");
  next_ = (next_ + 1) % static_cast<int>(slots_.size());
}

}  // namespace parabench::exec
