#include "parallelism/exec/upload.h"

#include "parallelism/exec/segment_runner.h"
#include "parallelism/exec/stage_state.h"

namespace parabench {

PieceTensors tensors_of(const LoadedPiece& piece, const TensorSpec& sample) {
  const auto n = static_cast<std::int64_t>(piece.labels.size());
  PieceTensors tensors;
  tensors.labels = torch::from_blob(piece.labels.data(), {n}, torch::kInt64);
  if (piece.pixels.empty()) return tensors;
  tensors.images = torch::from_blob(piece.pixels.data(), sizes_of(sample, n), torch::kFloat32);
  return tensors;
}

PieceTensors network_input(const PieceTensors& arrived, const Case& spec) {
  PieceTensors tensors;
  tensors.labels = torch::empty_like(arrived.labels);
  tensors.labels.copy_(arrived.labels);
  if (!arrived.images.defined()) return tensors;
  tensors.images = torch::empty(arrived.images.sizes(), torch::TensorOptions(master_type(spec.precision))
                                                            .memory_format(memory_format(spec.layout))
                                                            .device(arrived.images.device()));
  tensors.images.copy_(arrived.images);
  return tensors;
}

}  // namespace parabench
