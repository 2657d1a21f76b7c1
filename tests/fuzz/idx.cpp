// MNIST's IDX files, plain and compressed. The input: two bytes with the size of the file of labels, that file, and the
// file of images.
#include "datasets/idx.h"

#include <algorithm>

#include "datasets/mnist.h"
#include "tests/fuzz/samples.h"
#include "tests/fuzz/scratch_folder.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parabench;
  if (size < 2) return 0;
  const std::span files(data + 2, size - 2);
  const std::size_t first = std::min<std::size_t>(files.size(), 256U * data[0] + data[1]);
  static const fuzz::ScratchFolder folder;
  folder.write("t10k-labels-idx1-ubyte", files.first(first));
  folder.write("t10k-images-idx3-ubyte", files.subspan(first));
  const auto source = fuzz::value_or_error([&] {
    return datasets::open_mnist(datasets::make_dataset({"mnist", {}}),
                                {.directory = folder.path().string(), .split = datasets::Split::validation});
  });
  if (source) fuzz::read_samples(**source);
  // Where the images are refused, the labels are not looked at.
  fuzz::value_or_error([&] { return datasets::read_idx((folder.path() / "t10k-labels-idx1-ubyte").string(), 1); });
  return 0;
}
