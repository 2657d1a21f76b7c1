// Where samples come from: one interface, a reader for each format.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "datasets/spec/dataset.h"

namespace parabench::datasets {

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

/// The values of one or more samples: float32 where their shape is of real numbers, indices where it is of int64.
using SampleValues = std::variant<std::span<float>, std::span<std::int64_t>>;

/// Samples by index. All members are thread-safe. read() depends on (seed, epoch, index) alone, never on rank
/// or thread.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual std::int64_t size() const = 0;
  virtual TensorSpec shape() const = 0;
  /// The labels of a sample: {}, one class; {length}, one per token; {height, width}, one per pixel.
  virtual TensorSpec label_shape() const { return {{}, ElementKind::int64}; }
  /// Writes a sample's classes, 0-based (label_shape().elements() of them). Throws CorruptSample where they cannot be
  /// read.
  virtual void read_labels(std::int64_t index, std::span<std::int64_t> labels) const = 0;
  /// Writes the sample's values (shape().elements() of them), those of an image planar and normalised. Throws
  /// CorruptSample.
  virtual void read(std::int64_t index, std::int64_t epoch, SampleValues values) const = 0;
};

/// Throws usage_error for a missing folder, a wrong file size or an empty class list, naming the file. What each kind
/// reads or makes stands in the header of its name.
std::unique_ptr<SampleSource> open_source(const DatasetSpec& spec, const SourceOptions& options);

}  // namespace parabench::datasets
