// Where samples come from: one interface, three readers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "datasets/spec/dataset.h"

namespace parabench {

/// Training samples are augmented (random crop, flip), validation samples are cut at the centre.
enum class Split { train, validation };

struct SourceOptions {
  std::string directory;  ///< folder of a data set from files; unused by synthetic ones
  Split split = Split::train;
  std::uint64_t seed = 1;
};

/// A sample that cannot be read: names the file and what is wrong with it.
class CorruptSample : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Samples by index. read() is thread-safe and depends on (seed, epoch, index) alone, never on rank or thread.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual std::int64_t size() const = 0;
  virtual Shape shape() const = 0;
  virtual int label(std::int64_t index) const = 0;
  /// Writes the sample as planar (C, H, W) float32, normalised, into `pixels` (shape().elements() values).
  /// Throws CorruptSample.
  virtual void read(std::int64_t index, std::int64_t epoch, std::span<float> pixels) const = 0;
};

/// Throws usage_error for a missing folder, a wrong file size or an empty class list, naming the file.
///   synthetic    in memory, pixels and label from a counter-based generator keyed by (seed, index); a bounded set of distinct samples
///                (64 MiB, at least 64) is generated on first use and reused
///   cifar10      data_batch_1..5.bin, test_batch.bin: 1 label byte + 3072 planar RGB bytes a record; pad-4 crop and flip
///   imagenet     DIR/train/<class>/*.JPEG, DIR/val/<class>/*.JPEG; RandomResizedCrop(.08-1, 3/4-4/3) + flip, or
///                resize 8/7 and centre crop; libjpeg-turbo decodes only the rows and columns of the crop
std::unique_ptr<SampleSource> open_source(const DatasetSpec& spec, const SourceOptions& options);

}  // namespace parabench
