#include "models/spec/layer.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "models/spec/cost.h"
#include "models/spec/model.h"

namespace parabench::models {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

testing::Matcher<ParameterSpec> named(const std::string& name, const std::vector<std::int64_t>& shape) {
  return testing::FieldsAre(name, shape, testing::_);
}

LayerSpec small_stem() {
  return chain("stem",
               {{"conv1", Conv2d{3, 8, 3, 2, 1}}, {"bn1", BatchNorm{8}}, {"relu", Relu{}}, {"pool", MaxPool{3, 2, 1}}});
}

/// relu(body(x) + shortcut(x)) on `in` channels.
LayerSpec block(int in = 8, int stride = 2, bool projects = true) {
  LayerSpec layer = chain("b", {{"b.conv1", Conv2d{in, 4, 3, stride, 1}}, {"b.bn1", BatchNorm{4}}});
  int x = layer_input;
  if (projects) x = append(layer, {{"b.downsample.0", Conv2d{in, 4, 1, 2, 0}}, {"b.downsample.1", BatchNorm{4}}}, x);
  append(layer, {{"b.relu", Relu{}}}, append(layer, {"b.add", Add{}}, {1, x}));
  return layer;
}

TEST(Layer, ShapesFollowTheOperations) {
  EXPECT_EQ(output(small_stem(), {3, 32, 32}), (TensorSpec{8, 8, 8}));
  EXPECT_EQ(output(small_stem(), {3, 31, 17}), (TensorSpec{8, 8, 5}));
  EXPECT_EQ(output(block(), {8, 9, 9}), (TensorSpec{4, 5, 5}));
  EXPECT_EQ(output(chain("head", {{"gap", GlobalAveragePool{}}, {"fc", Linear{8, 5}}}), {8, 3, 3}), (TensorSpec{5}));
}

TEST(Layer, ShapeThatDoesNotFitIsRefusedByName) {
  EXPECT_THAT(
      [] {
        output(small_stem(), {1, 32, 32});
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("conv1"), HasSubstr("1x32x32"), HasSubstr("3 channels"))));
  EXPECT_THAT(
      [] {
        output(chain("l", {{"pool", MaxPool{3, 2, 0}}}), {4, 2, 2});
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("pool"), HasSubstr("at least 3x3"))));
  EXPECT_THAT(
      [] {
        output(chain("l", {{"fc", Linear{9, 2}}}), {8});
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("fc"), HasSubstr("9 features"))));
  const LayerSpec uneven = block(8, 2, false);
  EXPECT_THAT(
      [&] {
        output(uneven, {8, 8, 8});
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("b.add"), HasSubstr("8x8x8"), HasSubstr("4x4x4"))));
}

TEST(Layer, LayerNormTakesItsFeaturesLast) {
  const LayerSpec norm = chain("l", {{"norm", LayerNorm{8}}});
  EXPECT_EQ(output(norm, {8}), (TensorSpec{8}));
  EXPECT_EQ(output(norm, {5, 8}), (TensorSpec{5, 8}));
  for (const TensorSpec& in :
       {TensorSpec{8, 2, 1}, TensorSpec{4}, TensorSpec{8, 5}, TensorSpec{{8}, ElementKind::int64}})
    EXPECT_THAT([&] { output(norm, in); }, ThrowsMessage<Error>(HasSubstr("norm")));
  EXPECT_THAT([&] { output(norm, {4}); }, ThrowsMessage<Error>(HasSubstr("8 features")));
  EXPECT_THAT(parameters(norm), ElementsAre(named("norm.weight", {8}), named("norm.bias", {8})));
}

TEST(Layer, GroupNormTakesGroupsThatDivideItsChannels) {
  const LayerSpec norm = chain("l", {{"norm", GroupNorm{8, 4}}}),
                  plain = chain("l", {{"norm", GroupNorm{8, 8, false}}});
  EXPECT_EQ(output(norm, {8, 3, 5}), (TensorSpec{8, 3, 5}));
  EXPECT_THAT(parameters(norm), ElementsAre(named("norm.weight", {8}), named("norm.bias", {8})));
  EXPECT_THAT(parameters(plain), ElementsAre());
  EXPECT_NE(signature(norm, {8, 3, 5}), signature(plain, {8, 3, 5}));
  for (const int groups : {3, 16, 0, -2})
    EXPECT_THAT(
        [&] {
          output(chain("l", {{"norm", GroupNorm{8, groups}}}), {8, 3, 5});
        },
        ThrowsMessage<Error>(AllOf(HasSubstr("norm"), HasSubstr(std::to_string(groups)),
                                   HasSubstr("divides 8 channels"), HasSubstr("1 takes all"))));
  EXPECT_THAT([&] { output(norm, {4, 3, 5}); }, ThrowsMessage<Error>(HasSubstr("8 channels")));
  EXPECT_EQ(output(norm, {8, 1, 1}), (TensorSpec{8, 1, 1})) << "two channels are a group";
  EXPECT_THAT([&] { output(plain, {8, 1, 1}); }, ThrowsMessage<Error>(HasSubstr("more than one element")));
}

TEST(Layer, TensorsComeInRegistrationOrder) {
  EXPECT_THAT(parameters(block()), ElementsAre(named("b.conv1.weight", {4, 8, 3, 3}), named("b.bn1.weight", {4}),
                                               named("b.bn1.bias", {4}), named("b.downsample.0.weight", {4, 8, 1, 1}),
                                               named("b.downsample.1.weight", {4}), named("b.downsample.1.bias", {4})));
  EXPECT_THAT(buffers(block()),
              ElementsAre(named("b.bn1.running_mean", {4}), named("b.bn1.running_var", {4}),
                          named("b.downsample.1.running_mean", {4}), named("b.downsample.1.running_var", {4})));
  EXPECT_EQ(parameter_count(block()), 4 * 8 * 9 + 8 + 4 * 8 + 8);
}

TEST(Layer, MemoryIsWrittenOverWhereNothingElseReadsIt) {
  const auto overwritten = [](const LayerSpec& layer) { return overwritten_inputs(layer); };
  // The first summand is the norm's output; the activation follows in the sum's memory.
  EXPECT_THAT(overwritten(block()), ElementsAre(-1, -1, -1, -1, 0, 0));
  EXPECT_THAT(overwritten(small_stem()), ElementsAre(-1, -1, 0, -1));
  EXPECT_THAT(overwritten(chain("l", {{"relu", Relu{}}})), ElementsAre(-1)) << "never the layer's input";
  EXPECT_THAT(overwritten(chain("l", {{"flat", Flatten{}}, {"relu", Relu{}}})), ElementsAre(-1, -1))
      << "nor a view of it";
  EXPECT_THAT(overwritten(chain("l", {{"c", Conv2d{3, 8}}, {"flat", Flatten{}}, {"relu", Relu{}}})),
              ElementsAre(-1, -1, 0));
  EXPECT_THAT(overwritten(chain("l", {{"c", Conv2d{3, 8}}, {"relu", Relu{}}, {"again", Relu{}}})),
              ElementsAre(-1, 0, -1))
      << "nor what backward reads";
  LayerSpec shared = chain("l", {{"c", Conv2d{3, 8}}, {"bn", BatchNorm{8}}, {"relu", Relu{}}});
  append(shared, {"add", Add{}}, {1, 2});
  EXPECT_THAT(overwritten(shared), ElementsAre(-1, -1, -1, -1)) << "nor what has two readers";
  LayerSpec second = chain("l", {{"c", Conv2d{8, 8}}});
  append(second, {"add", Add{}}, {layer_input, 0});
  EXPECT_THAT(overwritten(second), ElementsAre(-1, 1));
  LayerSpec made = chain("l", {{"bn", BatchNorm{8}}, {"relu", Relu{}}});
  made.makes = {{"skip", 0}};
  EXPECT_THAT(overwritten(made), ElementsAre(-1, -1)) << "nor what a later layer takes";
}

TEST(Layer, SignatureIsTheSameForEqualWorkOnly) {
  LayerSpec renamed = block();
  renamed.name = "c";
  for (Node& node : renamed.nodes) node.name = "other";
  EXPECT_EQ(signature(renamed, {8, 8, 8}), signature(block(), {8, 8, 8}));
  EXPECT_NE(signature(block(), {8, 8, 9}), signature(block(), {8, 8, 8}));

  const LayerSpec plain = chain("b", {{"b.conv1", Conv2d{8, 4, 3, 2, 1}}, {"b.bn1", BatchNorm{4}}, {"relu", Relu{}}});
  LayerSpec other_way = block(), makes = block(), takes = block();
  other_way.nodes[4].inputs = {1, 2};
  makes.makes = {{"skip", 1}};
  takes.takes = {{"skip", {4, 4, 4}}};
  for (const LayerSpec& other : {plain, block(8, 2, false), block(8, 1), other_way, makes, takes})
    EXPECT_NE(signature(other, {8, 8, 8}), signature(block(), {8, 8, 8}));
}

TEST(Cost, MatrixProductsCountTwoPerMultiplyAdd) {
  const LayerSpec conv = chain("c", {{"c", Conv2d{3, 8, 3, 2, 1}}});
  const double product = 2.0 * 3 * 9 * 8 * 5 * 5;
  EXPECT_EQ(cost(conv, {3, 9, 9}, 4).forward_per_sample, Flops(product));
  EXPECT_EQ(cost(conv, {3, 9, 9}, 4).backward_per_sample, Flops(2 * product));
  EXPECT_EQ(cost(conv, {3, 9, 9}, 4, true).backward_per_sample, Flops(product));
  const LayerSpec linear = chain("l", {{"l", Linear{7, 5}}});
  EXPECT_EQ(cost(linear, {7}, 4).forward_per_sample, Flops(70));
  EXPECT_EQ(cost(linear, {3, 7}, 4).forward_per_sample, Flops(3 * 70)) << "of every position";
}

TEST(Cost, BytesMovedAreThePassesOverMapsAndWeights) {
  const LayerSpec conv = chain("c", {{"c", Conv2d{3, 8, 3, 2, 1}}});
  const std::int64_t in = 3 * 81, out = 8 * 25, weights = 8 * 27;
  const LayerCost inner = cost(conv, {3, 9, 9}, 8);
  EXPECT_EQ(inner.moved_forward_per_sample, Bytes(8 * (in + out)));
  EXPECT_EQ(inner.moved_backward_per_sample, Bytes(8 * 2 * (in + out)));
  EXPECT_EQ(inner.moved_per_batch, Bytes(8 * 3 * weights));
  EXPECT_EQ(cost(conv, {3, 9, 9}, 8, true).moved_backward_per_sample, Bytes(8 * (in + out)));
  EXPECT_EQ(cost(conv, {3, 9, 9}, 2).moved_per_batch, Bytes(4 * 3 * weights)) << "parameters stay fp32 under bf16";
}

TEST(Cost, SplitBackwardLeavesTheProductsOfWeightsForLater) {
  const LayerSpec conv = chain("c", {{"c", Conv2d{3, 8, 3, 2, 1}}});
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
  const LayerCost norm = cost(chain("n", {{"bn", BatchNorm{8}}, {"relu", Relu{}}}), {8, 5, 5}, 4);
  EXPECT_EQ(norm.backward_weight_per_sample, Flops());
  EXPECT_EQ(norm.moved_backward_weight_per_sample, Bytes());
  EXPECT_EQ(norm.saved_weight_per_sample, Bytes());
  EXPECT_EQ(norm.saved_weight_per_batch, Bytes(4 * 2 * 8));
}

TEST(Cost, GroupNormKeepsStatisticsOfEachGroupAndWithWeightsTheWideMap) {
  const std::int64_t n = 8 * 3 * 5;
  const LayerSpec norm = chain("l", {{"norm", GroupNorm{8, 4}}}),
                  plain = chain("l", {{"norm", GroupNorm{8, 4, false}}});
  EXPECT_EQ(cost(norm, {8, 3, 5}, 4).saved_per_sample, Bytes(4 * (n + 2 * 4)));
  EXPECT_EQ(cost(norm, {8, 3, 5}, 2).saved_per_sample, Bytes(4 * (n + 2 * 4)));
  EXPECT_EQ(cost(plain, {8, 3, 5}, 2).saved_per_sample, Bytes(2 * n + 4 * 2 * 4));
  EXPECT_EQ(cost(norm, {8, 3, 5}, 4).saved_weight_per_batch, Bytes(4 * 2 * 8));
  EXPECT_EQ(cost(plain, {8, 3, 5}, 4).saved_weight_per_batch, Bytes());
  EXPECT_EQ(cost(norm, {8, 3, 5}, 4, true).backward_per_sample, Flops(n));
  const LayerSpec twice = chain("l", {{"one", GroupNorm{8, 4, false}}, {"two", GroupNorm{8, 4, false}}});
  EXPECT_EQ(cost(twice, {8, 3, 5}, 4, true).backward_per_sample, Flops()) << "nothing before it has weights";
}

TEST(MixesSamples, WhereSomeBatchNormDoes) {
  EXPECT_TRUE(mixes_samples(make_model({"resnet18", {}}, {3, 32, 32}, 10, true)));
  EXPECT_FALSE(mixes_samples(make_model({"mlp", {}}, {3, 32, 32}, 10, true))) << "layer norm looks at one sample";
  LayerSpec layer = chain("plain", {{"conv", Conv2d{.in = 3, .out = 3}}, {"relu", Relu{}}});
  EXPECT_FALSE(mixes_samples(layer));
  append(layer, {{"bn", BatchNorm{3}}}, layer_input);
  EXPECT_TRUE(mixes_samples(layer));
}

TEST(Cost, ChainCountsASharedBoundaryOnce) {
  const std::vector<LayerSpec> fitting{small_stem(), block(), block(4)};
  const TensorSpec in{3, 32, 32}, after_stem{8, 8, 8}, between{4, 4, 4};
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
}  // namespace parabench::models
