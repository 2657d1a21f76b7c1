// CIFAR-10's files: the input is each of them.
#include "datasets/cifar.h"

#include "tests/fuzz/samples.h"
#include "tests/fuzz/scratch_folder.h"
#include "tests/fuzz/target.h"

namespace parabench::fuzz {
namespace {

const ScratchFolder& folder() {
  static const ScratchFolder folder;
  static const bool linked = [] {
    folder.write("test_batch.bin", {});
    for (const char* number : {"1", "2", "3", "4", "5"})
      folder.link("test_batch.bin", std::string("data_batch_") + number + ".bin");
    return true;
  }();
  require(linked, "every file has its name");
  return folder;
}

}  // namespace
}  // namespace parabench::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parabench;
  fuzz::folder().write("test_batch.bin", {data, size});
  const datasets::DatasetSpec spec = datasets::make_dataset({"cifar10", {}});
  for (const datasets::Split split : {datasets::Split::train, datasets::Split::validation}) {
    const auto source = fuzz::value_or_error(
        [&] { return datasets::open_cifar(spec, {.directory = fuzz::folder().path().string(), .split = split}); });
    if (source) fuzz::read_samples(**source);
  }
  return 0;
}
