// What a network's outputs are compared with.
#pragma once

#include "base/tensor_spec.h"

namespace parabench::models {

/// The loss is the cross entropy of every position with its label, the mean over all positions of the batch. Outputs
/// {classes} have one position, {length, classes} one per token, {classes, height, width} one per pixel. Returns the
/// labels of a sample: {}, {length} or {height, width}, of int64.
TensorSpec labels_of(const TensorSpec& output);

}  // namespace parabench::models
