// Pieces of the batch on their way from the loader to where a device computes.
#pragma once

#include <torch/types.h>

#include "base/case.h"
#include "base/tensor_spec.h"
#include "datasets/loader.h"

namespace parabench::exec {

/// Samples (images N x C x H x W, rows of tokens N x length) and their labels (N, N x length, N x H x W); undefined
/// images where only labels were loaded.
struct PieceTensors {
  torch::Tensor images, labels;
};

/// What a rank reads at most at a time.
struct LargestPiece {
  TensorSpec sample, labels;  ///< of one
  int samples = 0;
  bool images = true;
};

/// The way of one stream of pieces to a device. One thread at a time, but for the memory that host_memory() gives.
class Upload {
 public:
  virtual ~Upload() = default;
  /// The memory for pieces that arrive() is given: the device can read it beside its work.
  virtual datasets::HostMemory host_memory() const = 0;
  /// The piece's values, real ones in fp32 and planar, on the device, for what the computing thread gives out from now
  /// on until taken(), which follows before the next piece. The piece has at most the samples that the object was made
  /// for.
  virtual PieceTensors arrive(datasets::LoadedPiece piece) = 0;
  virtual void taken() = 0;
};

/// Of the values of a sample as they are loaded.
torch::ScalarType loaded_type(const TensorSpec& sample);
/// The first samples that lie one behind the other in flat memory, as a tensor.
torch::Tensor samples_in(const torch::Tensor& flat, const TensorSpec& sample, int samples);
/// A piece's own memory as tensors, good as long as the piece.
PieceTensors tensors_of(const datasets::LoadedPiece& piece, const TensorSpec& sample, const TensorSpec& labels);

/// Copies of what arrived as the network of a case reads it, on the same device: images in master type and layout,
/// tokens as they are.
PieceTensors network_input(const PieceTensors& arrived, const Case& spec);

}  // namespace parabench::exec
