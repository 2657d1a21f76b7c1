// The order in which a GPU's streams write and read the places that pieces pass through.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "parallelism/comm/cuda/runtime.h"

namespace parabench::exec {

/// Places (slots) on a GPU that a copy stream fills in turn for a compute stream to read. A slot is filled once the
/// compute stream has come to where its values before were taken, and read once the copy has ended: the streams wait
/// for each other in these two cases only. The host waits only where the slot's copy before this one has not ended, and
/// so is at most two rounds of slots ahead of the compute stream: else what it has loaded would pile up in host memory.
/// One thread at a time.
class UploadSlots {
 public:
  /// Of two streams of the thread's current GPU, which outlive the object.
  UploadSlots(int count, cudaStream_t copy, cudaStream_t compute);

  /// The slot to be filled next.
  int next() const { return next_; }
  struct Copy {
    void* to;
    const void* from;  ///< page-locked, and kept until the copy stream has come past it
    std::size_t bytes;
  };
  /// Fills slot next(). What the compute stream is given from now on comes after the copies.
  void fill(std::span<const Copy> copies);
  /// The compute stream was given all that reads the slot filled last.
  void taken();

 private:
  struct Slot {
    comm::Event filled, taken;
  };
  std::vector<Slot> slots_;
  cudaStream_t copy_, compute_;
  int next_ = 0;
};

}  // namespace parabench::exec
