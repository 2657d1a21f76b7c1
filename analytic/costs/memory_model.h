// How many bytes an operation takes.
#pragma once

#include <cstdint>

#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// What a GPU holds for a rank beside its tensors; all 0 where the device is the processor.
struct DeviceOverhead {
  std::int64_t context_bytes = 0;           ///< the driver's and the libraries', before the first tensor
  std::int64_t communicator_bytes = 0;      ///< that its communicator holds for a rank: kernels, buffers
  std::int64_t matrix_workspace_bytes = 0;  ///< cuBLAS's, out of the allocator's pool, where a rank multiplies matrices
  std::int64_t memory_bytes = 0;            ///< of the GPU; 0: unknown
};

/// Bytes of the operations of one plan. Pure: same question, same answer, to several threads at once as well. What
/// differs in step, version and micro-batch, of as many samples, takes the same.
class MemoryModel {
 public:
  virtual ~MemoryModel() = default;
  /// Bytes that a forward allocates and holds until its backward: output included; input not, except the images.
  virtual std::int64_t saved_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const = 0;
  /// Highest use during a backward above the bytes held before it; during a forward, above these and its saved_bytes.
  virtual std::int64_t peak_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const = 0;
  virtual DeviceOverhead device_overhead(const plan::Plan& plan) const = 0;
  /// Resident memory of a rank's process without what is counted (Calibration::process_bytes); 0: not known.
  virtual std::int64_t process_bytes(const plan::Plan& plan) const = 0;
};

}  // namespace parabench::analytic
