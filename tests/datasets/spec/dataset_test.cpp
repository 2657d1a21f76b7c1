#include "datasets/spec/dataset.h"

#include <gmock/gmock.h>

#include <map>

#include "base/error.h"

namespace parabench::datasets {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

using Parameters = decltype(NamedChoice::parameters);

TEST(Dataset, TableHasTheSizesOfDdlBench) {
  using enum DataSource;
  EXPECT_EQ(make_dataset({"mnist-synthetic", {}}),
            (DatasetSpec{"mnist-synthetic", synthetic, {1, 28, 28}, 10, 60'000, 10'000, true}));
  EXPECT_EQ(make_dataset({"cifar10", {}}),
            (DatasetSpec{"cifar10", cifar_binary, {3, 32, 32}, 10, 50'000, 10'000, true}));
  EXPECT_EQ(make_dataset({"imagenet", {}}),
            (DatasetSpec{"imagenet", jpeg_folder, {3, 224, 224}, 1000, 1'281'167, 50'000, false}));
  EXPECT_EQ(make_dataset({"imagenet-synthetic", {}}).train_size, 1000 * 1281);
  EXPECT_EQ(make_dataset({"highres-synthetic", {}}).sample, (TensorSpec{3, 512, 512}));
}

TEST(Dataset, EverySetFromFilesHasATwinOfItsShape) {
  for (const DatasetRow& row : dataset_rows()) {
    const DatasetSpec& real = row.spec;
    if (!is_from_files(real.source)) continue;
    SCOPED_TRACE(real.name);
    const DatasetSpec twin = make_dataset({real.name + "-synthetic", {}});
    EXPECT_EQ(twin.sample, real.sample);
    EXPECT_EQ(twin.classes, real.classes);
    EXPECT_EQ(twin.small_stem, real.small_stem);
    EXPECT_EQ(twin.source, DataSource::synthetic);
  }
}

TEST(Dataset, EverySetFromFilesHasAReaderOfItsOwn) {
  std::map<DataSource, std::string> read_by;
  for (const DatasetRow& row : dataset_rows()) {
    const DatasetSpec& spec = row.spec;
    ASSERT_LT(static_cast<std::size_t>(spec.source), enum_names<DataSource>.size()) << spec.name << ": names_of";
    if (!is_from_files(spec.source)) continue;
    const auto [other, is_new] = read_by.emplace(spec.source, spec.name);
    EXPECT_TRUE(is_new) << spec.name << " is normalised by mean and deviation of " << other->second;
  }
}

TEST(Dataset, ParametersChangeShapeAndClassesButNotTheStem) {
  const DatasetSpec spec = make_dataset({"imagenet-synthetic", {{"classes", "10"}, {"pixels", "32"}}});
  EXPECT_EQ(spec.sample, (TensorSpec{3, 32, 32}));
  EXPECT_EQ(spec.classes, 10);
  EXPECT_FALSE(spec.small_stem);
  EXPECT_EQ(spec.name, "imagenet-synthetic[pixels=32,classes=10]");
}

TEST(Dataset, CanonicalChoiceIsOrderedAndLeavesDefaultsOut) {
  const auto canonical = [](const std::string& name, Parameters parameters) {
    return canonical_dataset({name, std::move(parameters)}).parameters;
  };
  EXPECT_EQ(canonical("imagenet-synthetic", {{"classes", "1000"}, {"pixels", "032"}}), (Parameters{{"pixels", "32"}}));
  EXPECT_EQ(canonical("mnist-synthetic", {{"pixels", "28"}}), Parameters{});
  for (const DatasetRow& row : dataset_rows()) {
    EXPECT_EQ(make_dataset({row.spec.name, {}}), row.spec);
    EXPECT_EQ(canonical(row.spec.name, {}), Parameters{});
    for (const ChoiceParameter& one : row.parameters) {
      const std::string usual = std::to_string(one.value);
      EXPECT_EQ(canonical(row.spec.name, {{one.name, usual}}), Parameters{}) << one.name << ": its default";
    }
  }
}

TEST(Dataset, BadChoicesSayWhatIsKnown) {
  const auto message = [](const std::string& name, Parameters parameters, auto matcher) {
    EXPECT_THAT([&] { make_dataset({name, std::move(parameters)}); }, ThrowsMessage<Error>(matcher));
  };
  message("imagenet-syntetic", {}, AllOf(HasSubstr("imagenet-syntetic"), HasSubstr("imagenet-synthetic")));
  message("tokens", {}, HasSubstr("mnist-synthetic"));
  message("mnist-synthetic", {{"pixel", "14"}}, AllOf(HasSubstr("pixel"), HasSubstr("pixels")));
  message("cifar10", {{"pixels", "14"}}, HasSubstr("no parameters"));
  message("imagenet", {{"classes", "10"}}, HasSubstr("one of pixels"));
  message("imagenet", {{"pixels", "64"}, {"pixels", "64"}}, HasSubstr("once"));
  for (const std::string value : {"0", "-1", "1e3", "", "32px", "99999999999999"})
    message("mnist-synthetic", {{"pixels", value}}, AllOf(HasSubstr("'" + value + "'"), HasSubstr("integer")));
  message("mnist-synthetic", {{"classes", "1"}}, HasSubstr("from 2"));
}

TEST(Dataset, StaysOnTheDeviceWhereItIsSyntheticAndTheDeviceAGpu) {
  const auto resident = [](const char* dataset, DeviceKind device) {
    Case spec;
    spec.dataset.name = dataset;
    spec.device = device;
    spec.input = InputKind::resident;
    return spec;
  };
  for (const char* name : {"mnist-synthetic", "imagenet-synthetic"}) {
    EXPECT_NO_THROW(check_input(resident(name, DeviceKind::cuda)));
    for (const DeviceKind device : {DeviceKind::cpu, DeviceKind::emulated}) {
      EXPECT_THAT([&] { check_input(resident(name, device)); },
                  ThrowsMessage<Error>(AllOf(HasSubstr("input"), HasSubstr("'resident'"), HasSubstr("not cuda"))));
    }
  }
  for (const char* name : {"cifar10", "imagenet"}) {
    EXPECT_THAT([&] { check_input(resident(name, DeviceKind::cuda)); },
                ThrowsMessage<Error>(AllOf(HasSubstr("'resident'"), HasSubstr("files"),
                                           HasSubstr("try " + std::string(name) + "-synthetic"))));
    Case host = resident(name, DeviceKind::cpu);
    host.input = InputKind::host;
    EXPECT_NO_THROW(check_input(host));
  }
}

}  // namespace
}  // namespace parabench::datasets
