// MNIST (LeCun, Cortes and Burges 1998): train-images-idx3-ubyte, train-labels-idx1-ubyte, and t10k-... for
// validation.
#pragma once

#include <memory>

#include "datasets/source.h"

namespace parabench::datasets {

/// Each file plain or with .gz behind its name, the plain one first; any number of 28x28 images >= 1 is taken. Pixels
/// are not augmented. Opening reads both files into memory (47 MB for training). Throws usage_error naming the file and
/// what was expected: missing, truncated, other sizes, images and labels of different numbers, a label beyond 9.
std::unique_ptr<SampleSource> open_mnist(const DatasetSpec& spec, const SourceOptions& options);

}  // namespace parabench::datasets
