#include "datasets/source.h"

#include <fmt/format.h>

#include <stdexcept>

#include "datasets/cifar.h"
#include "datasets/jpeg_folder.h"
#include "datasets/mnist.h"
#include "datasets/synthetic.h"
#include "datasets/synthetic_masks.h"
#include "datasets/synthetic_tokens.h"

namespace parabench::datasets {

CorruptSample::CorruptSample(std::string_view file, std::string_view what)
    : std::runtime_error(
          fmt::format("{}: {}; mend or remove the file, or replace such samples by --skip-corrupt", file, what)) {}

std::unique_ptr<SampleSource> open_source(const DatasetSpec& spec, const SourceOptions& options) {
  switch (spec.source) {
    case DataSource::synthetic: return open_synthetic(spec, options);
    case DataSource::cifar_binary: return open_cifar(spec, options);
    case DataSource::jpeg_folder: return open_jpeg_folder(spec, options);
    case DataSource::mnist_idx: return open_mnist(spec, options);
    case DataSource::synthetic_masks: return open_synthetic_masks(spec, options);
    case DataSource::synthetic_tokens: return open_synthetic_tokens(spec, options);
  }
  throw std::logic_error("open_source: unknown kind of data source");
}

}  // namespace parabench::datasets
