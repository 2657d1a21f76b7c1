// A GPU as a device.
#pragma once

#include <memory>

#include "base/case.h"
#include "parallelism/exec/device.h"

namespace parabench::exec {

/// torch has a pool of 32 streams of high priority for each GPU, of which a rank takes two; streams tell ranks apart.
inline constexpr int most_ranks_on_gpu = 16;
/// GPU `index` with its own streams. Sets the process's TF32 switches to what `precision` says, and whether cuDNN tries
/// its algorithms out at every new shape (`tuned`; see tuning.h). Throws environment_error where there is no such GPU,
/// or for a build without CUDA. At most most_ranks_on_gpu of them on one GPU.
std::unique_ptr<Device> cuda_device(int index, Precision precision, bool tuned, MemoryAccount& account);

}  // namespace parabench::exec
