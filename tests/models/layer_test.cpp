#include "models/spec/layer.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "models/spec/model.h"

namespace parabench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

LayerSpec small_stem() {
  return {"stem",
          {{"conv1", Conv2d{3, 8, 3, 2, 1}}, {"bn1", BatchNorm{8}}, {"relu", Relu{}}, {"pool", MaxPool{3, 2, 1}}}};
}

LayerSpec block() {
  return {.name = "b",
          .body = {{"b.conv1", Conv2d{8, 4, 3, 2, 1}}, {"b.bn1", BatchNorm{4}}},
          .residual = true,
          .shortcut = {{"b.downsample.0", Conv2d{8, 4, 1, 2, 0}}, {"b.downsample.1", BatchNorm{4}}}};
}

TEST(Layer, ShapesFollowTheOperations) {
  EXPECT_EQ(output_shape(small_stem(), {3, 32, 32}), (Shape{8, 8, 8}));
  EXPECT_EQ(output_shape(small_stem(), {3, 31, 17}), (Shape{8, 8, 5}));
  EXPECT_EQ(output_shape(block(), {8, 9, 9}), (Shape{4, 5, 5}));
  EXPECT_EQ(output_shape(LayerSpec{"head", {{"gap", GlobalAveragePool{}}, {"fc", Linear{8, 5}}}}, {8, 3, 3}),
            (Shape{5, 1, 1}));
}

TEST(Layer, ShapeThatDoesNotFitIsRefusedByName) {
  EXPECT_THAT(
      [] {
        output_shape(small_stem(), {1, 32, 32});
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("conv1"), HasSubstr("1x32x32"), HasSubstr("3 channels"))));
  EXPECT_THAT(
      [] {
        output_shape(Step{"pool", MaxPool{3, 2, 0}}, {4, 2, 2});
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("pool"), HasSubstr("at least 3x3"))));
  EXPECT_THAT(
      [] {
        output_shape(Step{"fc", Linear{9, 2}}, {2, 2, 2});
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("fc"), HasSubstr("9 elements"))));
  LayerSpec uneven = block();
  uneven.shortcut.clear();
  EXPECT_THAT(
      [&] {
        output_shape(uneven, {8, 8, 8});
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("8x8x8"), HasSubstr("4x4x4"))));
}

TEST(Layer, LayerNormTakesFeaturesOnly) {
  const Step norm{"norm", LayerNorm{8}};
  EXPECT_EQ(output_shape(norm, {8, 1, 1}), (Shape{8, 1, 1}));
  for (const Shape in : {Shape{8, 2, 1}, Shape{4, 1, 1}, Shape{2, 2, 2}})
    EXPECT_THAT([&] { output_shape(norm, in); },
                ThrowsMessage<Error>(AllOf(HasSubstr("norm"), HasSubstr("8 features"))));
  EXPECT_THAT(parameters(LayerSpec{"l", {norm}}),
              ElementsAre(TensorSpec{"norm.weight", {8}}, TensorSpec{"norm.bias", {8}}));
}

TEST(Layer, TensorsComeInRegistrationOrder) {
  EXPECT_THAT(parameters(block()),
              ElementsAre(TensorSpec{"b.conv1.weight", {4, 8, 3, 3}}, TensorSpec{"b.bn1.weight", {4}},
                          TensorSpec{"b.bn1.bias", {4}}, TensorSpec{"b.downsample.0.weight", {4, 8, 1, 1}},
                          TensorSpec{"b.downsample.1.weight", {4}}, TensorSpec{"b.downsample.1.bias", {4}}));
  EXPECT_THAT(buffers(block()), ElementsAre(TensorSpec{"b.bn1.running_mean", {4}}, TensorSpec{"b.bn1.running_var", {4}},
                                            TensorSpec{"b.downsample.1.running_mean", {4}},
                                            TensorSpec{"b.downsample.1.running_var", {4}}));
  EXPECT_EQ(parameter_count(block()), 4 * 8 * 9 + 8 + 4 * 8 + 8);
}

TEST(Layer, SignatureIsTheSameForEqualWorkOnly) {
  LayerSpec renamed = block();
  renamed.name = "c";
  for (auto* steps : {&renamed.body, &renamed.shortcut})
    for (Step& step : *steps) step.name = "other";
  EXPECT_EQ(signature(renamed, {8, 8, 8}), signature(block(), {8, 8, 8}));
  EXPECT_NE(signature(block(), {8, 8, 9}), signature(block(), {8, 8, 8}));

  LayerSpec plain = block(), identity = block(), stride = block();
  plain.residual = false;
  plain.shortcut.clear();
  identity.shortcut.clear();
  std::get<Conv2d>(stride.body[0].operation).stride = 1;
  for (const LayerSpec& other : {plain, identity, stride})
    EXPECT_NE(signature(other, {8, 8, 8}), signature(block(), {8, 8, 8}));
}

TEST(Cost, MatrixProductsCountTwoPerMultiplyAdd) {
  const LayerSpec conv{"c", {{"c", Conv2d{3, 8, 3, 2, 1}}}};
  const double product = 2.0 * 3 * 9 * 8 * 5 * 5;
  EXPECT_EQ(cost(conv, {3, 9, 9}, 4).forward_per_sample, Flops(product));
  EXPECT_EQ(cost(conv, {3, 9, 9}, 4).backward_per_sample, Flops(2 * product));
  EXPECT_EQ(cost(conv, {3, 9, 9}, 4, true).backward_per_sample, Flops(product));
  const LayerSpec linear{"l", {{"l", Linear{7, 5}}}};
  EXPECT_EQ(cost(linear, {7, 1, 1}, 4).forward_per_sample, Flops(70));
}

TEST(Cost, BytesMovedAreThePassesOverMapsAndWeights) {
  const LayerSpec conv{"c", {{"c", Conv2d{3, 8, 3, 2, 1}}}};
  const std::int64_t in = 3 * 81, out = 8 * 25, weights = 8 * 27;
  const LayerCost inner = cost(conv, {3, 9, 9}, 8);
  EXPECT_EQ(inner.moved_forward_per_sample, Bytes(8 * (in + out)));
  EXPECT_EQ(inner.moved_backward_per_sample, Bytes(8 * 2 * (in + out)));
  EXPECT_EQ(inner.moved_per_batch, Bytes(8 * 3 * weights));
  EXPECT_EQ(cost(conv, {3, 9, 9}, 8, true).moved_backward_per_sample, Bytes(8 * (in + out)));
  EXPECT_EQ(cost(conv, {3, 9, 9}, 2).moved_per_batch, Bytes(4 * 3 * weights)) << "parameters stay fp32 under bf16";
}

TEST(Cost, SplitBackwardLeavesTheProductsOfWeightsForLater) {
  const LayerSpec conv{"c", {{"c", Conv2d{3, 8, 3, 2, 1}}}};
  const std::int64_t in = 3 * 81, out = 8 * 25;
  const double product = 2.0 * 3 * 9 * 8 * 5 * 5;
  for (const bool first : {false, true}) {
    const LayerCost c = cost(conv, {3, 9, 9}, 4, first);
    EXPECT_EQ(c.backward_weight_per_sample, Flops(product));
    EXPECT_EQ(c.backward_per_sample - c.backward_weight_per_sample, Flops(first ? 0 : product));
    EXPECT_EQ(c.moved_backward_weight_per_sample, Bytes(4 * (in + out)));
    EXPECT_EQ(c.saved_weight_per_sample, Bytes(4 * (in + out)));
    EXPECT_EQ(c.saved_weight_per_batch, Bytes());
  }
  const LayerCost norm = cost(LayerSpec{"n", {{"bn", BatchNorm{8}}, {"relu", Relu{}}}}, {8, 5, 5}, 4);
  EXPECT_EQ(norm.backward_weight_per_sample, Flops());
  EXPECT_EQ(norm.moved_backward_weight_per_sample, Bytes());
  EXPECT_EQ(norm.saved_weight_per_sample, Bytes());
  EXPECT_EQ(norm.saved_weight_per_batch, Bytes(4 * 2 * 8));
}

TEST(MixesSamples, WhereSomeBatchNormDoes) {
  EXPECT_TRUE(mixes_samples(make_model({"resnet18", {}}, {3, 32, 32}, 10, true)));
  EXPECT_FALSE(mixes_samples(make_model({"mlp", {}}, {3, 32, 32}, 10, true))) << "layer norm looks at one sample";
  LayerSpec layer{"plain", {{"conv", Conv2d{3, 3, 1, 1, 0}}, {"relu", Relu{}}}, true};
  EXPECT_FALSE(mixes_samples(layer));
  layer.shortcut = {{"conv", Conv2d{3, 3, 1, 1, 0}}, {"bn", BatchNorm{3}}};
  EXPECT_TRUE(mixes_samples(layer));
}

TEST(Cost, ChainCountsASharedBoundaryOnce) {
  const std::vector<LayerSpec> chain{small_stem(), block(), block()};
  std::vector<LayerSpec> fitting = chain;
  std::get<Conv2d>(fitting[2].body[0].operation).in = 4;
  std::get<Conv2d>(fitting[2].shortcut[0].operation).in = 4;
  const Shape in{3, 32, 32}, after_stem{8, 8, 8}, between{4, 4, 4};
  const LayerCost whole = cost(fitting, in, 4, true);
  const LayerCost a = cost(fitting[0], in, 4, true), b = cost(fitting[1], after_stem, 4),
                  c = cost(fitting[2], between, 4);
  EXPECT_EQ(whole.forward_per_sample, a.forward_per_sample + b.forward_per_sample + c.forward_per_sample);
  EXPECT_EQ(whole.backward_per_sample, a.backward_per_sample + b.backward_per_sample + c.backward_per_sample);
  EXPECT_EQ(whole.saved_per_batch, a.saved_per_batch + b.saved_per_batch + c.saved_per_batch);
  // The pooled output of the stem is kept by the block alone, the block's own output by both.
  EXPECT_EQ(whole.saved_per_sample,
            a.saved_per_sample + b.saved_per_sample + c.saved_per_sample - Bytes(4 * between.elements()));
}

}  // namespace
}  // namespace parabench
