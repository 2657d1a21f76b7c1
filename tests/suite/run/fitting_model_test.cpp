// Which models go with which data sets.
#include "suite/run/fitting_model.h"

#include <gmock/gmock.h>

#include <set>

#include "base/case_id.h"
#include "base/error.h"
#include "models/spec/loss.h"
#include "models/spec/nets/nets.h"

namespace parabench::suite {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

models::ModelSpec make(const std::string& model_and_data_set) {
  const Case spec = parse_case(model_and_data_set + "/sequential/np:1/batch:8");
  return make_model_for(spec, datasets::make_dataset(spec.dataset));
}

std::string complaint(const std::string& model_and_data_set) {
  try {
    make(model_and_data_set);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no complaint";
}

TEST(FittingModel, AnswersWithTheLabelsOfTheDataSet) {
  std::set<std::string> served;
  for (const models::Net& net : models::nets()) {
    for (const datasets::DatasetRow& row : datasets::dataset_rows()) {
      const std::string pair = net.name + "/" + row.spec.name;
      if (complaint(pair) != "no complaint") continue;
      served.insert({net.name, row.spec.name});
      EXPECT_EQ(models::labels_of(models::boundaries(make(pair)).back()), datasets::label_shape(row.spec)) << pair;
    }
  }
  EXPECT_EQ(served.size(), models::nets().size() + datasets::dataset_rows().size());
}

TEST(FittingModel, OtherSamplesAreRefusedWithTheDataSetsThatFit) {
  EXPECT_EQ(
      complaint("resnet18/tokens-synthetic"),
      "data set: got 'tokens-synthetic', expected images with a class each, which resnet18 is trained on, not "
      "rows of token ids; these fit: mnist, mnist-synthetic, cifar10, cifar10-synthetic, imagenet, imagenet-synthetic, "
      "highres-synthetic");
  EXPECT_THAT(complaint("unet/cifar10-synthetic"), HasSubstr("these fit: masks-synthetic"));
  EXPECT_THAT(complaint("transformer/cifar10-synthetic"), HasSubstr("these fit: tokens-synthetic"));
  EXPECT_THAT(complaint("mlp/masks-synthetic"), HasSubstr("not images with a class for each pixel"));
  EXPECT_THAT(complaint("mlp/tokens-synthetic"), HasSubstr("not rows of token ids"));
}

TEST(FittingModel, ImagesOfAnImpossibleSizeAreRefusedWithTheNearestPossibleOne) {
  const auto expect = [](const std::string& model, const std::string& bad, const std::string& good) {
    EXPECT_THAT(complaint(model + "/" + bad), StartsWith("data set: got '" + bad + "'"));
    EXPECT_THAT(complaint(model + "/" + bad), testing::EndsWith("; try " + good));
    EXPECT_EQ(complaint(model + "/" + good), "no complaint");
  };
  expect("amoebanetd", "imagenet-synthetic[pixels=9,classes=10]", "imagenet-synthetic[pixels=31,classes=10]");
  expect("amoebanetd", "imagenet-synthetic[pixels=40]", "imagenet-synthetic[pixels=32]");
  expect("amoebanetd", "mnist", "mnist-synthetic[pixels=31]");
  expect("unet", "masks-synthetic[pixels=31]", "masks-synthetic[pixels=64]");
  expect("unet[depth=10,channels=2]", "masks-synthetic", "masks-synthetic[pixels=2048]");
  expect("vgg16", "imagenet-synthetic[pixels=9]", "imagenet-synthetic[pixels=32]");
}

TEST(FittingModel, WhatIsWrongBesideTheSizeIsSaidAsItIs) {
  EXPECT_THAT(complaint("amoebanetd[layers=4]/imagenet-synthetic[pixels=9]"), StartsWith("layers of amoebanetd"));
  EXPECT_THAT(complaint("resnet19/imagenet-synthetic"), StartsWith("model: got 'resnet19'"));
  EXPECT_THAT(complaint("transformer[sequence=16]/tokens-synthetic"), StartsWith("sequence of transformer"));
}

}  // namespace
}  // namespace parabench::suite
