#include "models/spec/nets/resnet.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "models/spec/cost.h"
#include "models/spec/model.h"
#include "tests/models/spec/matrix_flops.h"

namespace parabench::models {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using testing::ThrowsMessage;

ModelSpec imagenet(const std::string& name) { return make_model({name, {}}, {3, 224, 224}, 1000, false); }
ModelSpec cifar(const std::string& name) { return make_model({name, {}}, {3, 32, 32}, 10, true); }
ModelSpec mnist(const std::string& name) { return make_model({name, {}}, {1, 28, 28}, 10, true); }

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const ResNetVariant& variant : resnet_variants()) all.emplace_back(variant.name);
  return all;
}

std::vector<ParameterSpec> all_parameters(const ModelSpec& model) {
  std::vector<ParameterSpec> all;
  for (const LayerSpec& layer : model.layers) std::ranges::copy(parameters(layer), std::back_inserter(all));
  return all;
}

TEST(ResNet, ParameterCountsAreThePublishedOnes) {
  EXPECT_EQ(parameter_count(imagenet("resnet18")), 11'689'512);
  EXPECT_EQ(parameter_count(imagenet("resnet34")), 21'797'672);
  EXPECT_EQ(parameter_count(imagenet("resnet50")), 25'557'032);
  EXPECT_EQ(parameter_count(imagenet("resnet101")), 44'549'160);
  EXPECT_EQ(parameter_count(imagenet("resnet152")), 60'192'808);
  EXPECT_EQ(parameter_count(cifar("resnet18")), 11'173'962);
  EXPECT_EQ(parameter_count(cifar("resnet50")), 23'520'842);
  EXPECT_EQ(parameter_count(cifar("resnet152")), 58'156'618);
  EXPECT_EQ(parameter_count(mnist("resnet18")), 11'172'810);
  EXPECT_EQ(parameter_count(mnist("resnet50")), 23'519'690);
  EXPECT_EQ(parameter_count(mnist("resnet152")), 58'155'466);
  EXPECT_EQ(parameter_count(make_model({"resnet18", {}}, {3, 32, 32}, 10, false)), 11'181'642);
}

TEST(ResNet, LayersAreStemBlocksAndHead) {
  std::vector<std::size_t> counts;
  for (const std::string& name : names()) counts.push_back(imagenet(name).layers.size());
  EXPECT_THAT(names(), ElementsAre("resnet18", "resnet34", "resnet50", "resnet101", "resnet152"));
  EXPECT_THAT(counts, ElementsAre(10, 18, 18, 35, 52));
}

TEST(ResNet, ShapesOfTheThreeStems) {
  const auto last_map = [](const ModelSpec& model) { return boundaries(model)[model.layers.size() - 1]; };
  EXPECT_EQ(boundaries(imagenet("resnet18"))[1], (TensorSpec{64, 56, 56}));
  EXPECT_EQ(last_map(imagenet("resnet50")), (TensorSpec{2048, 7, 7}));
  EXPECT_EQ(boundaries(cifar("resnet18"))[1], (TensorSpec{64, 32, 32}));
  EXPECT_EQ(last_map(cifar("resnet18")), (TensorSpec{512, 4, 4}));
  EXPECT_EQ(last_map(mnist("resnet50")), (TensorSpec{2048, 4, 4}));
  EXPECT_EQ(boundaries(mnist("resnet18")).back(), (TensorSpec{10}));
}

/// Buckets of PyTorch DDP: reverse parameter order, closed when the size reaches the limit; 1 MiB, then 25 MiB.
std::vector<double> ddp_buckets_mib(const ModelSpec& model) {
  std::vector<ParameterSpec> tensors = all_parameters(model);
  std::ranges::reverse(tensors);
  std::vector<double> closed;
  double open = 0;
  for (const ParameterSpec& tensor : tensors) {
    open += static_cast<double>(tensor.elements()) * 4 / (1 << 20);
    if (open >= (closed.empty() ? 1 : 25)) closed.push_back(std::exchange(open, 0));
  }
  if (open > 0) closed.push_back(open);
  return closed;
}

MATCHER(RoundsTo, "") { return std::round(std::get<0>(arg) * 10) == std::round(std::get<1>(arg) * 10); }

TEST(ResNet, ParameterOrderGivesTheBucketsOfDdp) {
  EXPECT_THAT(ddp_buckets_mib(imagenet("resnet18")), Pointwise(RoundsTo(), {2.0, 27.5, 15.1}));
  EXPECT_THAT(ddp_buckets_mib(imagenet("resnet50")), Pointwise(RoundsTo(), {7.8, 30.0, 25.0, 25.3, 9.3}));
  EXPECT_THAT(ddp_buckets_mib(imagenet("resnet101")),
              Pointwise(RoundsTo(), {7.8, 30.0, 25.0, 26.6, 25.6, 25.6, 25.1, 4.2}));
  EXPECT_THAT(ddp_buckets_mib(imagenet("resnet152")),
              Pointwise(RoundsTo(), {7.8, 30.0, 25.0, 26.6, 25.6, 25.6, 25.6, 25.6, 25.3, 12.5}));
}

/// In units of 1e9, as torchvision's documentation gives them.
double giga_multiply_adds(const ModelSpec& model) { return matrix_flops(model).forward / 2e9; }

TEST(ResNet, MultiplyAddsAreTorchvisions) {
  EXPECT_NEAR(giga_multiply_adds(imagenet("resnet18")), 1.814, 5e-4);
  EXPECT_NEAR(giga_multiply_adds(imagenet("resnet34")), 3.664, 5e-4);
  EXPECT_NEAR(giga_multiply_adds(imagenet("resnet50")), 4.089, 5e-4);
  EXPECT_NEAR(giga_multiply_adds(imagenet("resnet101")), 7.801, 5e-4);
  EXPECT_NEAR(giga_multiply_adds(imagenet("resnet152")), 11.514, 5e-4);
}

TEST(ResNet, ElementwiseWorkIsASmallPartOfTheTotal) {
  for (const std::string& name : names()) {
    const ModelSpec model = imagenet(name);
    const double forward = cost(model.layers, model.input, sizeof(float), true).forward_per_sample.value;
    EXPECT_GT(forward, 2e9 * giga_multiply_adds(model));
    EXPECT_LT(forward, 1.02 * 2e9 * giga_multiply_adds(model));
    EXPECT_NEAR(training_flops(model).value / forward, 3, 0.15);
  }
}

TEST(Model, UnknownNameSuggestsTheNearest) {
  EXPECT_THAT([] { imagenet("resnet81"); }, ThrowsMessage<Error>(AllOf(HasSubstr("resnet81"), HasSubstr("resnet18"))));
  EXPECT_THAT(
      [] {
        make_model({"resnet18", {{"layers", "4"}}}, {3, 32, 32}, 10, true);
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("resnet18"), HasSubstr("layers"), HasSubstr("channels"))));
}

}  // namespace
}  // namespace parabench::models
