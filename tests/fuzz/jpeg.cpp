// A folder of one JPEG image, the input, cut and resampled as for training and for validation.
#include "datasets/jpeg_folder.h"
#include "tests/fuzz/samples.h"
#include "tests/fuzz/scratch_folder.h"
#include "tests/fuzz/target.h"

namespace parabench::fuzz {
namespace {

struct Folder {
  Folder() {
    scratch.write("train/class/image.jpg", {});
    scratch.link("train/class/image.jpg", "val/class/image.jpg");
    const datasets::DatasetSpec spec{
        .name = "imagenet", .source = datasets::DataSource::jpeg_folder, .sample = {3, 32, 32}, .classes = 1000};
    for (const datasets::Split split : {datasets::Split::train, datasets::Split::validation})
      sources.push_back(datasets::open_jpeg_folder(spec, {.directory = scratch.path().string(), .split = split}));
  }
  ScratchFolder scratch;
  std::vector<std::unique_ptr<datasets::SampleSource>> sources;
};

}  // namespace
}  // namespace parabench::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const parabench::fuzz::Folder folder;
  folder.scratch.write("train/class/image.jpg", {data, size});
  for (const auto& source : folder.sources) parabench::fuzz::read_samples(*source);
  return 0;
}
