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

/// Where nobody measured them. What a process holds with torch's libraries and the kernels of a network, and what NCCL
/// 2.28.9 holds for a rank without others: as measured on an H100 (driver 580.159.04, CUDA 13.0). Of several ranks a
/// guess besides: 24 channels, 10 MiB of them to each of two neighbours.
inline constexpr std::int64_t typical_context_bytes = 680LL << 20;
inline constexpr std::int64_t typical_nccl_alone_bytes = 1004LL << 20;
inline constexpr std::int64_t typical_nccl_neighbour_bytes = 480LL << 20;
/// Of a rank's NCCL communicator of so many ranks; 0 of others.
std::int64_t typical_communicator_bytes(CommKind comm, int ranks);

/// Workspace that cuBLAS takes out of torch's pool: 32 MiB from capability 9.0 on, else 8 MiB and 128 KiB
/// (:4096:2:16:8; ATen/cuda/CublasHandlePool.cpp). No GPU known: the smaller one.
std::int64_t matrix_workspace_bytes(const GpuInfo* gpu);

}  // namespace parabench::analytic
