// CIFAR-10, binary version (Krizhevsky 2009): data_batch_1.bin ... data_batch_5.bin for training,
// test_batch.bin.
#pragma once

#include <memory>

#include "datasets/source.h"

namespace parabench::datasets {

/// A file is a row of records of 3073 bytes: the label (0-9), then 32x32 red, green and blue bytes; any whole
/// number of records >= 1 is taken. Training samples: padded by 4 black pixels, cut at random, flipped with
/// probability 1/2, keyed by (seed, epoch, index). Opening checks presence and sizes alone, so it takes no
/// time; a bad label is a CorruptSample. Throws usage_error naming the file, its size and what was expected.
std::unique_ptr<SampleSource> open_cifar(const DatasetSpec& spec, const SourceOptions& options);

}  // namespace parabench::datasets
