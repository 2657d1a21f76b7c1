// Where samples come from: one interface, three readers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

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
  CorruptSample(std::string_view file, std::string_view what);
};

/// Samples by index. All members are thread-safe. read() depends on (seed, epoch, index) alone, never on rank
/// or thread.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual std::int64_t size() const = 0;
  virtual TensorSpec shape() const = 0;
  /// The class of a sample, 0-based. Throws CorruptSample where the label itself cannot be read.
  virtual int label(std::int64_t index) const = 0;
  /// Writes the sample as planar (C, H, W) float32, normalised, into `pixels` (shape().elements() values).
  /// Throws CorruptSample.
  virtual void read(std::int64_t index, std::int64_t epoch, std::span<float> pixels) const = 0;
};

/// Throws usage_error for a missing folder, a wrong file size or an empty class list, naming the file.
///   synthetic    datasets/synthetic.h
///   cifar10      datasets/cifar.h
///   imagenet     datasets/jpeg_folder.h
///   mnist        datasets/mnist.h
std::unique_ptr<SampleSource> open_source(const DatasetSpec& spec, const SourceOptions& options);

}  // namespace parabench
