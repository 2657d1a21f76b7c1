// Images per second and thread: decoding the whole image against the cut alone, and what the loader adds.
#include <benchmark/benchmark.h>

#include <span>

#include "datasets/jpeg.h"
#include "datasets/loader.h"
#include "datasets/resample.h"
#include "tests/datasets/sample_files.h"

namespace parabench {
namespace {

constexpr int images = 8, pixels = 224;
constexpr std::size_t sample_values = 3 * pixels * pixels;

/// A folder of one class whose images have the size and quality of ImageNet's, times `scale`.
struct Folder {
  explicit Folder(int scale) {
    for (int i = 0; i < images; ++i) {
      jpegs.push_back(
          datasets::encode_jpeg({500 * scale, 375 * scale, datasets::JpegColour::ycbcr, 2, 2, false, 90, i}));
      for (const char* split : {"train/a/", "val/a/"})
        datasets::write_file(folder.path() / (split + std::to_string(i) + ".jpg"), jpegs.back());
    }
  }
  std::shared_ptr<const datasets::SampleSource> open(datasets::Split split) const {
    const datasets::DatasetSpec spec{
        "imagenet", datasets::DataSource::jpeg_folder, {3, pixels, pixels}, 1000, images, images, false};
    return datasets::open_source(spec, {folder.path().string(), split, 1});
  }
  std::vector<std::vector<std::uint8_t>> jpegs;
  datasets::TemporaryFolder folder;
};

const Folder& folder_of(int scale) {
  static const Folder plain(1), large(4);
  return scale == 1 ? plain : large;
}

datasets::Cut cut_of(const datasets::JpegReader& jpeg, datasets::Split split, std::int64_t draw) {
  return split == datasets::Split::train ? datasets::random_cut(jpeg.width(), jpeg.height(),
                                                                datasets::Draws(1, datasets::DrawPurpose::augmentation,
                                                                                draw / images, draw % images))
                                         : datasets::centre_cut(jpeg.width(), jpeg.height(), pixels);
}

/// What a loader without partial decode does for the same cuts, the files already in memory.
void whole_image(benchmark::State& state, datasets::Split split, int scale) {
  const Folder& folder = folder_of(scale);
  std::vector<float> out(sample_values);
  datasets::PixelWindow window;
  std::int64_t draw = 0;
  for (auto _ : state) {
    datasets::JpegReader jpeg(folder.jpegs[static_cast<std::size_t>(draw % images)], "");
    jpeg.decode(1, {0, 0, jpeg.width(), jpeg.height()}, window);
    datasets::resample(window, cut_of(jpeg, split, draw++), pixels, datasets::imagenet_normalisation, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations());
}

/// The source as it is, opening and reading the file included.
void cut_alone(benchmark::State& state, datasets::Split split, int scale) {
  const auto source = folder_of(scale).open(split);
  std::vector<float> out(sample_values);
  std::int64_t draw = 0;
  for (auto _ : state) {
    source->read(draw % images, draw / images, out);
    ++draw;
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations());
}

void loader(benchmark::State& state, std::shared_ptr<const datasets::SampleSource> source) {
  constexpr int samples = 32;
  datasets::Loader loader(std::move(source),
                          [](std::int64_t piece) {
                            return datasets::PieceRequest{piece * samples, samples};
                          },
                          {.threads = static_cast<int>(state.range(0))});
  for (auto _ : state) benchmark::DoNotOptimize(loader.next().labels.data());
  state.SetItemsProcessed(state.iterations() * samples);
}

void loader_of_jpegs(benchmark::State& state) { loader(state, folder_of(1).open(datasets::Split::train)); }

void loader_of_synthetic(benchmark::State& state) {
  const datasets::DatasetSpec spec{
      "cifar10-synthetic", datasets::DataSource::synthetic, {3, 32, 32}, 10, 50'000, 10'000, true};
  loader(state, datasets::open_source(spec, {}));
}

BENCHMARK_CAPTURE(whole_image, train_500x375, datasets::Split::train, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(cut_alone, train_500x375, datasets::Split::train, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(whole_image, validation_500x375, datasets::Split::validation, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(cut_alone, validation_500x375, datasets::Split::validation, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(whole_image, train_2000x1500, datasets::Split::train, 4)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(cut_alone, train_2000x1500, datasets::Split::train, 4)->Unit(benchmark::kMicrosecond);
BENCHMARK(loader_of_jpegs)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(loader_of_synthetic)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace parabench

BENCHMARK_MAIN();
