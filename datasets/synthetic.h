// Synthetic twins: samples made in memory, so that a run measures no disk and no decoder.
#pragma once

#include <memory>

#include "datasets/source.h"

namespace parabench::datasets {

/// Labels are uniform over the classes and belong to the index. Pixels have mean 0 and variance 1 (a sum of
/// four uniform numbers, near normal, within +-3.5): integer arithmetic only, so every machine makes the same
/// bits. They come from a pool of 64 MiB of distinct samples, at least 64 (sample i shows pool entry i modulo
/// the pool), each made on first use. Both are keyed by (seed, split, index).
std::unique_ptr<SampleSource> open_synthetic(const DatasetSpec& spec, const SourceOptions& options);

}  // namespace parabench::datasets
