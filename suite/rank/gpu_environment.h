// What CUDA and NCCL look for in the environment when they start.
#pragma once

#include "base/case.h"

namespace parabench::rank {

/// Sets for a launch of the case, where the user has not: CUDA_DEVICE_MAX_CONNECTIONS=32, NCCL_RUNTIME_CONNECT=0 and,
/// for several ranks over NCCL, CUDA_MODULE_LOADING=EAGER. Call before anybody calls CUDA or NCCL.
void set_gpu_environment(const Case& spec);

}  // namespace parabench::rank
