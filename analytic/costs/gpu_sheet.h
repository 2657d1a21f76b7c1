// GPUs by their maker's data sheets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analytic/calibration/machine.h"
#include "base/case.h"

namespace parabench::analytic {

struct GpuSheet {
  std::string_view name;  ///< as part of what the driver calls it
  GpuRates rates;
};

/// The row of a GPU, by name; of one that the table does not know, a slow one of its capability. nullptr: no GPU is
/// known, and a slow one of capability 8.x is assumed.
const GpuSheet& gpu_sheet(const GpuInfo* gpu);
/// What gpu_sheet() took, for the reader of a prediction: "data sheet of H200", "no GPU known: data sheet of A10".
std::string gpu_sheet_text(const GpuInfo* gpu);

double peak_flops(const GpuRates& rates, Precision precision);

/// What a process with torch's libraries holds before its first tensor, and one rank's buffers of an NCCL communicator
/// (24 channels, 10 MiB of them to each of two neighbours), where nobody measured them. Guesses.
inline constexpr std::int64_t typical_context_bytes = 500LL << 20;
inline constexpr std::int64_t typical_nccl_bytes = 480LL << 20;

/// Workspace that cuBLAS takes out of torch's pool: 32 MiB from capability 9.0 on, else 8 MiB and 128 KiB
/// (:4096:2:16:8; ATen/cuda/CublasHandlePool.cpp). No GPU known: the smaller one.
std::int64_t matrix_workspace_bytes(const GpuInfo* gpu);

}  // namespace parabench::analytic
