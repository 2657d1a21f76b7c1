// ImageNet and its like: a folder of JPEG files per class.
#pragma once

#include <memory>

#include "datasets/source.h"

namespace parabench::datasets {

/// Files as datasets/image_list.h lists them. Training samples: random_cut of datasets/cut.h keyed by (seed,
/// epoch, index); validation samples: centre_cut. Only the cut's rows and columns are decoded, at 1/2, 1/4 or
/// 1/8 where the cut is that much larger than the sample, then resampled (datasets/resample.h) and normalised
/// by ImageNet's mean and deviation. Throws usage_error as list_images does; read() throws CorruptSample for
/// a file that cannot be read or decoded.
std::unique_ptr<SampleSource> open_jpeg_folder(const DatasetSpec& spec, const SourceOptions& options);

}  // namespace parabench::datasets
