#include "models/torch/layer.h"

#include <gmock/gmock.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <vector>

#include "models/torch/autocast.h"
#include "models/torch/loss.h"
#include "models/torch/operations/dropout.h"
#include "models/torch/tensor.h"
#include "tests/models/torch/network.h"

namespace parabench::models {
namespace {

ModelSpec small_model() { return make_model({"resnet18", {}}, {3, 32, 32}, 10, true); }

Network filled(torch::ScalarType type) {
  Network network(small_model(), type);
  fill(network);
  return network;
}

std::vector<double> draw(const LayerSpec& layer, std::size_t parameter, std::uint64_t seed) {
  std::vector<double> values(parameters(layer).at(parameter).elements());
  modules::initialise(layer, parameter, seed, 0, values);
  return values;
}

double deviation(const std::vector<double>& values) {
  double squares = 0;
  for (double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(Forward, NeverWritesIntoItsInput) {
  const Network network = filled(torch::kFloat32);
  const std::vector<TensorSpec> in = boundaries(network.model);
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const torch::Tensor x = torch::randn(modules::sizes_of(in[i], 2));
    const torch::Tensor before = x.clone();
    modules::forward(network.model.layers[i], network.layers[i], x);
    EXPECT_TRUE(x.equal(before)) << network.model.layers[i].name;
    EXPECT_EQ(x._version(), 0) << network.model.layers[i].name;
  }
}

TEST(Forward, LayerThatStartsWithReluLeavesItsInputAlone) {
  const torch::Tensor x = torch::tensor({-1.0, 2.0}).view({1, 2, 1, 1});
  const torch::Tensor y = modules::forward(chain("activation", {{"relu", Relu{}}}), {}, x);
  EXPECT_EQ(y[0][0].item<double>(), 0);
  EXPECT_EQ(x[0][0].item<double>(), -1);
}

TEST(Forward, SegmentsCutByDetachTrainAsOneGraph) {
  const Network whole = filled(torch::kFloat64), cut = filled(torch::kFloat64);
  const torch::Tensor images = pattern_images({2, 3, 32, 32});
  whole.forward(images).square().sum().backward();

  std::vector<torch::Tensor> inputs{images}, outputs;
  for (std::size_t i = 0; i < cut.layers.size(); ++i) {
    outputs.push_back(modules::forward(cut.model.layers[i], cut.layers[i], inputs.back()));
    inputs.push_back(outputs.back().detach().requires_grad_());
  }
  inputs.back().square().sum().backward();
  for (std::size_t i = cut.layers.size(); i-- > 0;) outputs[i].backward(inputs[i + 1].grad());

  const auto expected = whole.parameters(), actual = cut.parameters();
  for (std::size_t p = 0; p < expected.size(); ++p) EXPECT_TRUE(expected[p].grad().equal(actual[p].grad())) << p;
}

TEST(Forward, ChannelsLastStaysChannelsLastAndAgrees) {
  const Network plain = filled(torch::kFloat64), last = filled(torch::kFloat64);
  for (torch::Tensor parameter : last.parameters())
    if (parameter.dim() == 4) parameter.set_data(parameter.detach().contiguous(at::MemoryFormat::ChannelsLast));
  const torch::Tensor images = pattern_images({2, 3, 32, 32});
  torch::Tensor x = images.contiguous(at::MemoryFormat::ChannelsLast);
  for (std::size_t i = 0; i + 1 < last.layers.size(); ++i) {
    x = modules::forward(last.model.layers[i], last.layers[i], x);
    EXPECT_TRUE(x.is_contiguous(at::MemoryFormat::ChannelsLast)) << last.model.layers[i].name;
  }
  const torch::Tensor logits = modules::forward(last.model.layers.back(), last.layers.back(), x);
  EXPECT_TRUE(at::allclose(logits, plain.forward(images), 1e-10, 1e-10));
}

TEST(Forward, Bfloat16IsCloseAndOnlyInsideTheGuard) {
  const Network network = filled(torch::kFloat32);
  const torch::Tensor images = pattern_images({4, 3, 32, 32}).to(torch::kFloat32);
  const torch::Tensor exact = network.forward(images);
  torch::Tensor rounded;
  {
    const modules::AutocastGuard outer(true, torch::kCPU);
    const modules::AutocastGuard inner(false, torch::kCPU);
    rounded = network.forward(images);
  }
  EXPECT_EQ(rounded.scalar_type(), torch::kBFloat16);
  EXPECT_LT((rounded - exact).norm().item<double>(), 0.1 * exact.norm().item<double>());
  rounded.to(torch::kFloat32).sum().backward();
  for (const torch::Tensor& parameter : network.parameters())
    EXPECT_EQ(parameter.grad().scalar_type(), torch::kFloat32);
  EXPECT_EQ(network.forward(images).scalar_type(), torch::kFloat32);
}

TEST(Forward, GroupNormIsTorchs) {
  for (const GroupNorm norm : {GroupNorm{8, 4}, GroupNorm{8, 1}, GroupNorm{8, 2, false}, GroupNorm{8, 8, false}}) {
    const LayerSpec layer = chain("l", {{"norm", norm}});
    modules::LayerTensors tensors = modules::allocate_tensors(layer, torch::kFloat64);
    for (torch::Tensor& parameter : tensors.parameters) parameter = torch::randn({8}, torch::kFloat64).requires_grad_();
    std::vector<torch::Tensor> weights = tensors.parameters;
    weights.resize(2);
    for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      const torch::Tensor values = torch::randn({3, 8, 4, 5}, torch::kFloat64).contiguous(format);
      const torch::Tensor x = values.clone().requires_grad_(), other = values.clone().requires_grad_();
      const torch::Tensor y = modules::forward(layer, tensors, x);
      const torch::Tensor expected = at::group_norm(other, norm.groups, weights[0], weights[1], 1e-5);
      EXPECT_TRUE(at::allclose(y, expected, 1e-10, 1e-10)) << to_text(Operation(norm));
      const torch::Tensor gradient = torch::randn({3, 8, 4, 5}, torch::kFloat64);
      y.backward(gradient);
      expected.backward(gradient);
      EXPECT_TRUE(at::allclose(x.grad(), other.grad(), 1e-10, 1e-10)) << to_text(Operation(norm));
    }
  }
}

TEST(Autocast, WeightsChangedBetweenGuardsAreSeen) {
  const torch::Tensor weight = torch::ones({4, 4}, torch::requires_grad()), x = torch::ones({1, 4});
  for (double value : {1.0, 2.0}) {
    {
      const torch::NoGradGuard no_grad;
      weight.fill_(value);
    }
    const modules::AutocastGuard autocast(true, torch::kCPU);
    EXPECT_EQ(at::linear(x, weight).sum().item<double>(), 16 * value);
  }
}

TEST(Dropout, MaskIsTheSameInEveryArithmeticAndType) {
  const modules::DropoutDraws draws{7, 1000};
  const torch::Tensor expected = modules::dropout_mask({3, 5, 7}, 0.3, "drop", draws, torch::kFloat64);
  for (const auto type : {torch::kFloat64, torch::kFloat32, torch::kBFloat16}) {
    EXPECT_TRUE(modules::dropout_mask({3, 5, 7}, 0.3, "drop", draws, type).equal(expected.to(type)));
    EXPECT_TRUE(modules::dropout_mask_on_device({3, 5, 7}, 0.3, "drop", draws, type).equal(expected.to(type)));
  }
}

TEST(Dropout, ASampleIsDrawnByItsPositionWhateverTheMicroBatch) {
  const auto mask = [](std::int64_t samples, std::int64_t first, const char* name = "drop") {
    return modules::dropout_mask({samples, 100}, 0.3, name, {7, first}, torch::kFloat64);
  };
  EXPECT_TRUE(mask(5, 40).equal(at::cat({mask(2, 40), mask(3, 42)})));
  EXPECT_FALSE(mask(2, 40).equal(mask(2, 42)));
  EXPECT_FALSE(mask(2, 40).equal(mask(2, 40, "other")));
  EXPECT_NEAR(mask(100, 0).eq(0).to(torch::kFloat64).mean().item<double>(), 0.3, 0.02);
  EXPECT_NEAR(mask(100, 0).mean().item<double>(), 1, 0.02);
}

TEST(Loss, IsTheMeanOverAllPositionsOfTheBatch) {
  const torch::Tensor tokens = torch::randn({4, 6, 5}, torch::kFloat64), pixels = tokens.transpose(1, 2).unsqueeze(-1);
  const torch::Tensor labels = torch::randint(5, {4, 6}, torch::kInt64);
  const double mean = at::cross_entropy_loss(tokens.flatten(0, 1), labels.flatten()).item<double>();
  EXPECT_NEAR(modules::cross_entropy(tokens, labels, 4).item<double>(), mean, 1e-12);
  EXPECT_NEAR(modules::cross_entropy(pixels, labels.unsqueeze(-1), 4).item<double>(), mean, 1e-12);
  const auto part = [&](std::int64_t from, std::int64_t samples) {
    return modules::cross_entropy(tokens.narrow(0, from, samples), labels.narrow(0, from, samples), 4).item<double>();
  };
  EXPECT_NEAR(part(0, 1) + part(1, 3), mean, 1e-12) << "shares of pieces add up";
}

TEST(Initialise, DependsOnSeedAndNameAlone) {
  const ModelSpec model = small_model();
  const LayerSpec &block = model.layers[1], &next = model.layers[2];
  EXPECT_EQ(draw(block, 0, 1), draw(block, 0, 1));
  EXPECT_NE(draw(block, 0, 1), draw(block, 0, 2));
  EXPECT_NE(draw(block, 0, 1), draw(next, 0, 1));
}

TEST(Initialise, PartsAreThoseOfTheWhole) {
  const LayerSpec block = small_model().layers[1];
  const std::vector<double> whole = draw(block, 0, 1);
  std::vector<double> part(5);
  modules::initialise(block, 0, 1, 7, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 7));
}

TEST(Initialise, DistributionsAreTorchvisions) {
  for (const std::string name : {"resnet18", "resnet50"}) {
    const ModelSpec model = make_model({name, {}}, {3, 32, 32}, 100, false);
    for (const LayerSpec& layer : model.layers) {
      const std::vector<ParameterSpec> specs = parameters(layer);
      for (std::size_t p = 0; p < specs.size(); ++p) {
        if (specs[p].elements() > 1'000'000) continue;
        const std::vector<double> values = draw(layer, p, 7);
        const auto& shape = specs[p].shape;
        if (shape.size() == 4) {
          const double expected = std::sqrt(2.0 / static_cast<double>(shape[0] * shape[2] * shape[3]));
          EXPECT_NEAR(deviation(values) / expected, 1, 5 / std::sqrt(2.0 * values.size())) << specs[p].name;
        } else if (layer.name == "head") {
          const double bound = 1 / std::sqrt(name == "resnet18" ? 512.0 : 2048.0);
          EXPECT_THAT(values, testing::Each(testing::AllOf(testing::Ge(-bound), testing::Le(bound))));
          EXPECT_NEAR(deviation(values) * std::sqrt(3) / bound, 1, 0.2);
        } else {
          EXPECT_THAT(values, testing::Each(specs[p].name.ends_with("weight") ? 1.0 : 0.0)) << specs[p].name;
        }
      }
    }
  }
}

TEST(AllocateTensors, AreZeroLeavesAndFreshStatistics) {
  const modules::LayerTensors tensors = modules::allocate_tensors(small_model().layers[3], torch::kFloat64);
  ASSERT_EQ(tensors.parameters.size(), 9);
  ASSERT_EQ(tensors.buffers.size(), 6);
  for (const torch::Tensor& parameter : tensors.parameters) {
    EXPECT_TRUE(parameter.is_leaf() && parameter.requires_grad());
    EXPECT_EQ(parameter.scalar_type(), torch::kFloat64);
    EXPECT_EQ(parameter.abs().max().item<double>(), 0);
  }
  EXPECT_EQ(tensors.buffers[0].abs().max().item<double>(), 0);
  EXPECT_TRUE(tensors.buffers[1].equal(torch::ones({128}, torch::kFloat64)));
}

}  // namespace
}  // namespace parabench::models
