// The way of pieces to a GPU.
#pragma once

#include <c10/cuda/CUDAStream.h>

#include <memory>

#include "parallelism/exec/upload.h"

namespace parabench::exec {

/// Pieces come from page-locked memory, over `copy`, into upload_slots slots of the largest piece, which are memory of
/// that stream; `compute` takes them out. torch's host allocator gives the page-locked memory and has it back, to use
/// again, once the copy has ended.
std::unique_ptr<Upload> cuda_upload(const LargestPiece& largest, c10::cuda::CUDAStream copy,
                                    c10::cuda::CUDAStream compute);

}  // namespace parabench::exec
