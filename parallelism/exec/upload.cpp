#include "parallelism/exec/upload.h"

#include "models/torch/tensor.h"
#include "parallelism/exec/segment_runner.h"
#include "parallelism/exec/stage_state.h"

namespace parabench::exec {

PieceTensors tensors_of(const datasets::LoadedPiece& piece, const TensorSpec& sample, const TensorSpec& labels) {
  PieceTensors tensors;
  tensors.labels = torch::from_blob(piece.labels.data(), modules::sizes_of(labels, piece.samples), torch::kInt64);
  if (!piece.has_values()) return tensors;
  std::visit(
      [&](auto values) {
        tensors.images = torch::from_blob(values.data(), modules::sizes_of(sample, piece.samples), loaded_type(sample));
      },
      piece.values);
  return tensors;
}

torch::Tensor samples_in(const torch::Tensor& flat, const TensorSpec& sample, int samples) {
  return flat.narrow(0, 0, samples * sample.elements()).view(modules::sizes_of(sample, samples));
}

torch::ScalarType loaded_type(const TensorSpec& sample) {
  return sample.kind() == ElementKind::int64 ? torch::kInt64 : torch::kFloat32;
}

PieceTensors network_input(const PieceTensors& arrived, const Case& spec) {
  PieceTensors tensors;
  tensors.labels = torch::empty_like(arrived.labels);
  tensors.labels.copy_(arrived.labels);
  if (!arrived.images.defined()) return tensors;
  torch::TensorOptions options(arrived.images.device());
  options = options.dtype(arrived.images.is_floating_point() ? master_type(spec.precision) : torch::kInt64);
  if (arrived.images.dim() == 4) options = options.memory_format(memory_format(spec.layout));
  tensors.images = torch::empty(arrived.images.sizes(), options);
  tensors.images.copy_(arrived.images);
  return tensors;
}

}  // namespace parabench::exec
