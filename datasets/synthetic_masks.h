// Synthetic segmentation: images of a disc in noise, and for each pixel whether it is inside.
#pragma once

#include <memory>

#include "datasets/source.h"

namespace parabench::datasets {

/// The disc's centre is anywhere in the image, its radius an eighth to a half of the image's side: pixels inside have
/// label 1 and mean 1, those outside label 0 and mean 0; the noise around the mean is a sample of synthetic.h. Masks
/// are keyed by (seed, split, index).
std::unique_ptr<SampleSource> open_synthetic_masks(const DatasetSpec& spec, const SourceOptions& options);

}  // namespace parabench::datasets
