// Networks against published numbers.
#include "models/spec/nets/nets.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "base/error.h"
#include "models/spec/cost.h"
#include "models/spec/loss.h"
#include "models/spec/model.h"
#include "models/spec/skips.h"

namespace parabench::models {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

ModelSpec imagenet(const std::string& name) { return make_model({name, {}}, {3, 224, 224}, 1000, false); }
ModelSpec cifar(const std::string& name) { return make_model({name, {}}, {3, 32, 32}, 10, true); }
ModelSpec mnist(const std::string& name) { return make_model({name, {}}, {1, 28, 28}, 10, true); }
ModelSpec transformer(decltype(NamedChoice::parameters) parameters, int length = 64, int vocabulary = 1000) {
  return make_model({"transformer", std::move(parameters)}, TensorSpec({length}, ElementKind::int64), vocabulary, true);
}

TEST(Vgg, ParameterCountsAreThePublishedOnes) {
  EXPECT_EQ(parameter_count(imagenet("vgg11")), 132'863'336);
  EXPECT_EQ(parameter_count(imagenet("vgg13")), 133'047'848);
  EXPECT_EQ(parameter_count(imagenet("vgg16")), 138'357'544);
  EXPECT_EQ(parameter_count(imagenet("vgg19")), 143'667'240);
  EXPECT_EQ(parameter_count(imagenet("vgg11-bn")), 132'868'840);
  EXPECT_EQ(parameter_count(imagenet("vgg16-bn")), 138'365'992);
  EXPECT_EQ(parameter_count(cifar("vgg11")), 9'225'610);
  EXPECT_EQ(parameter_count(cifar("vgg16")), 14'719'818);
  EXPECT_EQ(parameter_count(mnist("vgg11")), 9'224'458);
  EXPECT_EQ(parameter_count(mnist("vgg16")), 14'718'666);
}

TEST(Vgg, MapsThatCannotBeHalvedAreNotPooled) {
  for (const char* name : {"vgg11", "vgg19-bn"}) {
    for (const ModelSpec& model : {cifar(name), mnist(name)}) {
      const std::vector<TensorSpec> all = boundaries(model);
      EXPECT_EQ(all[all.size() - 2], (TensorSpec{512, 1, 1}));
      EXPECT_EQ(all.back(), (TensorSpec{10}));
    }
  }
  EXPECT_EQ(boundaries(imagenet("vgg16")).back(), (TensorSpec{1000}));
  EXPECT_EQ(imagenet("vgg16").layers.size(), 16u) << "a layer per convolution and linear layer";
}

TEST(MobileNetV2, ParameterCountsAreThePublishedOnes) {
  EXPECT_EQ(parameter_count(imagenet("mobilenetv2")), 3'504'872);
  EXPECT_EQ(parameter_count(cifar("mobilenetv2")), 2'296'922);
  EXPECT_EQ(parameter_count(mnist("mobilenetv2")), 2'296'346);
}

TEST(MobileNetV2, WidthsAreThoseOfTorchvisionsWidthMultiplier) {
  const auto count = [](const char* channels) {
    return parameter_count(make_model({"mobilenetv2", {{"channels", channels}}}, {3, 224, 224}, 1000, false));
  };
  EXPECT_EQ(count("16"), 1'968'680) << "width_mult 0.5";
  EXPECT_EQ(count("24"), 2'636'424) << "width_mult 0.75";
  EXPECT_EQ(count("64"), 11'258'088) << "width_mult 2";
}

TEST(MobileNetV2, ImagenetsFormTakes301MillionMultiplyAdds) {
  // Sandler et al. 2018, table 4: 300 M.
  double flops = 0;
  const ModelSpec model = imagenet("mobilenetv2");
  const std::vector<TensorSpec> in = boundaries(model);
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    const std::vector<TensorSpec> outputs = values(model.layers[l], in[l]);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (const auto* conv = std::get_if<Conv2d>(&model.layers[l].nodes[i].operation))
        flops += 1.0 * outputs[i].elements() * conv->in / conv->groups * conv->kernel.height * conv->kernel.width;
  }
  EXPECT_NEAR(flops, 299.5e6, 0.5e6);
}

TEST(ResNet1001, HasItsParametersAndLayers) {
  EXPECT_EQ(parameter_count(cifar("resnet1001")), 10'327'706);
  EXPECT_EQ(cifar("resnet1001").layers.size(), 335u);
  EXPECT_EQ(boundaries(cifar("resnet1001"))[334], (TensorSpec{256, 8, 8}));
}

TEST(ImageNets, ChannelsScaleEveryWidth) {
  const auto convolution_parameters = [](const std::string& name, const std::string& channels) {
    std::int64_t sum = 0;
    for (const LayerSpec& layer : make_model({name, {{"channels", channels}}}, {3, 32, 32}, 10, true).layers)
      for (const ParameterSpec& tensor : parameters(layer))
        if (tensor.shape.size() == 4 && tensor.shape[1] != 3) sum += tensor.elements();
    return sum;
  };
  for (const auto& [name, usual, half] : {std::array{"resnet18", "64", "32"}, std::array{"resnet50", "64", "32"},
                                          std::array{"resnet1001", "16", "8"}, std::array{"vgg16", "64", "32"}})
    EXPECT_EQ(convolution_parameters(name, usual), 4 * convolution_parameters(name, half)) << name;
}

ModelSpec unet(int depth, int convolutions, int channels, int pixels, int classes) {
  const std::string d = std::to_string(depth), n = std::to_string(convolutions), c = std::to_string(channels);
  return make_model({"unet", {{"depth", d}, {"convolutions", n}, {"channels", c}}}, {3, pixels, pixels}, classes,
                    false);
}

TEST(Unet, ParameterCountsAreTorchgpipes) {
  EXPECT_EQ(parameter_count(unet(5, 5, 64, 192, 1)), 232'687'328);
  EXPECT_EQ(parameter_count(unet(3, 2, 16, 64, 1)), 279'800);
  EXPECT_EQ(parameter_count(unet(2, 1, 8, 16, 1)), 6'556);
}

TEST(Unet, EveryEncoderSkipsToTheDecoderOfItsSize) {
  const ModelSpec model = unet(3, 2, 16, 50, 4);  // 50, 25, 12, 6 pixels: decoders pad
  const std::vector<Skip> all = skips(model);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], (Skip{"skip.0", 1, 12, {16, 50, 50}}));
  EXPECT_EQ(all[1], (Skip{"skip.1", 3, 10, {32, 25, 25}}));
  EXPECT_EQ(all[2], (Skip{"skip.2", 5, 8, {64, 12, 12}}));
  EXPECT_EQ(boundaries(model).back(), (TensorSpec{4, 50, 50}));
  EXPECT_EQ(labels_of(boundaries(model).back()), TensorSpec({50, 50}, ElementKind::int64));
}

ModelSpec amoebanet(int layers, int filters, int classes) {
  return make_model({"amoebanetd", {{"layers", std::to_string(layers)}, {"filters", std::to_string(filters)}}},
                    {3, 224, 224}, classes, false);
}

TEST(AmoebaNetD, ParameterCountsAreTorchgpipes) {
  EXPECT_EQ(parameter_count(amoebanet(18, 208, 1000)), 81'505'540);
  EXPECT_EQ(parameter_count(amoebanet(18, 256, 1000)), 122'470'120);
  EXPECT_EQ(parameter_count(amoebanet(6, 64, 10)), 2'686'346);
  EXPECT_EQ(parameter_count(amoebanet(3, 32, 10)), 391'354);
}

TEST(AmoebaNetD, EachCellTakesTheOutputOfTheOneBeforeLast) {
  const ModelSpec model = amoebanet(3, 32, 10);
  const std::vector<TensorSpec> in = boundaries(model);
  const std::vector<Skip> all = skips(model);
  ASSERT_EQ(all.size(), model.layers.size() - 2) << "all but the first layer's and the classifier";
  for (const Skip& skip : all) {
    EXPECT_EQ(skip.to_layer, skip.from_layer + 1);
    EXPECT_EQ(skip.tensor, in[std::max(1, skip.from_layer)]);
  }
  EXPECT_THAT([] { amoebanet(4, 32, 10); },
              ThrowsMessage<Error>(AllOf(HasSubstr("layers of amoebanetd: got '4'"), HasSubstr("multiple of 3"),
                                         HasSubstr("try layers=3"))));
}

TEST(Skips, AreMadeOnceAndTakenOnceLater) {
  const auto model = [](std::vector<MadePort> makes, std::vector<TakenPort> takes) {
    LayerSpec first = chain("first", {{"a", Relu{}}}), second = chain("second", {{"b", Relu{}}});
    first.makes = std::move(makes);
    second.takes = std::move(takes);
    return ModelSpec{"m", {4}, 4, {first, second}};
  };
  const TakenPort port{"p", {4}};
  EXPECT_EQ(skips(model({{"p", 0}}, {port})), (std::vector<Skip>{{"p", 0, 1, {4}}}));
  for (const ModelSpec& wrong : {model({{"p", 0}}, {}), model({}, {port}), model({{"p", 0}}, {port, port}),
                                 model({{"p", 0}, {"p", 0}}, {port}), model({{"p", 0}}, {{"p", {5}}})})
    EXPECT_THROW(skips(wrong), std::logic_error);
}

TEST(Transformer, Gpt2HasItsParameters) {
  // 124,439,808 with tied embeddings; the head's own matrix comes on top.
  EXPECT_EQ(parameter_count(transformer({}, 1024, 50'257)), 124'439'808 + 50'257 * 768);
  const ModelSpec tied = transformer({{"tied", "on"}}, 1024, 50'257);
  EXPECT_EQ(parameter_count(tied), 124'439'808);
  EXPECT_EQ(tied.name, "transformer[tied=on]");
  EXPECT_EQ(tied.layers, transformer({}, 1024, 50'257).layers) << "the same work";
  ASSERT_TRUE(tied.tie);
  EXPECT_EQ(tied_tensor(tied).name, "wte.weight");
  EXPECT_EQ(parameters(tied.layers.back())[tied.tie->copy.parameter].name, "lm_head.weight");
  EXPECT_EQ(parameters(tied.layers.back())[tied.tie->copy.parameter].shape, tied_tensor(tied).shape);
  EXPECT_EQ(transformer({{"tied", "off"}}).name, "transformer");
  EXPECT_EQ(transformer({}).name, "transformer");
  EXPECT_EQ(transformer({{"heads", "8"}, {"hidden", "256"}}).name, "transformer[hidden=256,heads=8]");
}

TEST(Transformer, SequencesPassThroughAndEndInTheVocabulary) {
  const std::vector<TensorSpec> all = boundaries(transformer({{"layers", "3"}}));
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all.front(), TensorSpec({64}, ElementKind::int64));
  for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(all[i], (TensorSpec{64, 768}));
  EXPECT_EQ(all.back(), (TensorSpec{64, 1000}));
  EXPECT_EQ(labels_of(all.back()), TensorSpec({64}, ElementKind::int64));
}

TEST(Transformer, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(
      [] {
        boundaries(transformer({{"heads", "7"}}));
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("heads of transformer: got '7'"), HasSubstr("a divisor of hidden, 768"),
                                 HasSubstr("try heads=6"))));
  EXPECT_THAT(
      [] {
        boundaries(transformer({{"sequence", "32"}}));
      },
      ThrowsMessage<Error>(testing::StrEq("sequence of transformer: got '32', expected at least 64, the length of the "
                                          "data set's samples; try transformer[sequence=64], or sequence=32 for the "
                                          "data set")));
  EXPECT_THAT(
      [] {
        make_model({"transformer", {}}, {3, 32, 32}, 10, true);
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("3x32x32"), HasSubstr("tokens"))));
  EXPECT_THAT(
      [] {
        make_model({"vgg11", {}}, TensorSpec({64}, ElementKind::int64), 10, true);
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("vgg11"), HasSubstr("64:int64"), HasSubstr("images"))));
}

TEST(Operations, GroupsDivideTheChannels) {
  const LayerSpec layer = chain("l", {{"conv", Conv2d{.in = 4, .out = 6, .groups = 4}}});
  EXPECT_THAT([&] { output(layer, {4, 5, 5}); }, ThrowsMessage<Error>(AllOf(HasSubstr("conv"), HasSubstr("'4'"))));
}

TEST(Operations, ADepthwiseConvolutionMultipliesOneChannelAtATime) {
  const LayerSpec layer = chain("l", {{"conv", Conv2d{8, 8, 3, 1, 1, 8}}});
  EXPECT_EQ(cost(layer, {8, 5, 5}, 4).forward_per_sample, Flops(2.0 * 9 * 8 * 25));
  EXPECT_EQ(parameter_count(layer), 8 * 9);
}

TEST(Operations, ACausalAttentionHasHalfOfThePairs) {
  const auto flops = [](bool causal) {
    return cost(chain("l", {{"a", Attention{2, causal}}}), {9, 24}, 4).forward_per_sample.value;
  };
  EXPECT_EQ(flops(false), 2 * 2.0 * 9 * 9 * 8);
  EXPECT_EQ(flops(true), 2 * 2.0 * 45 * 8);
}

/// Of images, or of tokens where those are none of its samples.
ModelSpec of_its_samples(const std::string& net) {
  try {
    return make_model({net, {}}, {3, 64, 64}, 10, true);
  } catch (const Error&) {
    return make_model({net, {}}, TensorSpec({64}, ElementKind::int64), 10, true);
  }
}

TEST(Nets, NamesOfTensorsAreUniqueAndEveryNetFitsItsSamples) {
  for (const Net& net : nets()) {
    const ModelSpec model = of_its_samples(net.name);
    EXPECT_EQ(model.name, net.name);
    std::set<std::string> names;
    for (const LayerSpec& layer : model.layers)
      for (const ParameterSpec& parameter : parameters(layer))
        EXPECT_TRUE(names.insert(parameter.name).second) << net.name << " " << parameter.name;
    EXPECT_EQ(boundaries(model).size(), model.layers.size() + 1);
  }
}

}  // namespace
}  // namespace parabench::models
