// GPUs by their maker's data sheets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analytic/calibration/machine.h"
#include "base/case.h"

namespace parabench::analytic {

/// Peak rates, dense.
struct GpuSheet {
  std::string_view name;  ///< as part of what the driver calls it
  double bf16_flops, tf32_flops, fp32_flops, fp64_flops;
  double memory_bytes_per_s;
  double link_bytes_per_s;  ///< one way to another GPU of the node: NVLink where there is one, else PCIe
  double host_bytes_per_s;  ///< one way to the host, PCIe
};

/// The row of a GPU, by name; of one that the table does not know, a slow one of its capability. nullptr: no GPU is
/// known, and a slow one of capability 8.x is assumed.
const GpuSheet& gpu_sheet(const GpuInfo* gpu);
/// What gpu_sheet() took, for the reader of a prediction: "data sheet of H200", "no GPU known: data sheet of A10".
std::string gpu_sheet_text(const GpuInfo* gpu);

double peak_flops(const GpuSheet& sheet, Precision precision);

/// What a process with torch's libraries holds before its first tensor, and one rank's buffers of an NCCL communicator
/// (24 channels, 10 MiB of them to each of two neighbours), where nobody measured them. Guesses.
inline constexpr std::int64_t typical_context_bytes = 500LL << 20;
inline constexpr std::int64_t typical_nccl_bytes = 480LL << 20;

/// Workspace that cuBLAS takes out of torch's pool: 32 MiB from capability 9.0 on, else 8 MiB and 128 KiB
/// (:4096:2:16:8; ATen/cuda/CublasHandlePool.cpp). No GPU known: the smaller one.
std::int64_t matrix_workspace_bytes(const GpuInfo* gpu);

}  // namespace parabench::analytic
