// The backward in two parts against the ordinary one, bit for bit.
#include <gmock/gmock.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include <optional>
#include <string>
#include <vector>

#include "models/torch/autocast.h"
#include "models/torch/layer.h"
#include "models/torch/tensor.h"
#include "tests/models/spec/operations.h"
#include "tests/models/torch/network.h"

namespace parabench::models {
namespace {

enum class Type { fp32, fp64, bf16 };

/// A layer, the shape it takes, whether it is a model's first.
struct Subject {
  std::string name;
  LayerSpec layer;
  TensorSpec in;
  bool first = false;
};

LayerSpec plain(std::vector<Step> body) { return chain("plain", std::move(body)); }

/// relu(body(x) + shortcut(x)).
LayerSpec residual(std::vector<Step> body, std::vector<Step> shortcut) {
  LayerSpec layer{.name = "residual"};
  const int y = append(layer, std::move(body), layer_input);
  const int sum = append(layer, {"add", Add{}}, {y, append(layer, std::move(shortcut), layer_input)});
  append(layer, {{"relu", Relu{}}}, sum);
  return layer;
}

LayerSpec block(int in, int out, int stride, bool projection) {
  std::vector<Step> shortcut;
  if (projection) shortcut = {{"down", Conv2d{in, out, 1, stride, 0}}, {"bn3", BatchNorm{out}}};
  return residual({{"conv1", Conv2d{in, out, 3, stride, 1}},
                   {"bn1", BatchNorm{out}},
                   {"relu1", Relu{}},
                   {"conv2", Conv2d{out, out, 1, 1, 0}},
                   {"bn2", BatchNorm{out}}},
                  std::move(shortcut));
}

/// A batch norm in its two parts.
LayerSpec norm_by_statistics(bool first) {
  LayerSpec layer =
      first ? plain({{"sums", BatchStatistics{8}}}) : plain({{"conv", Conv2d{8, 8}}, {"sums", BatchStatistics{8}}});
  append(layer, {"bn", BatchNormBy{8}}, {first ? layer_input : 0, first ? 0 : 1});
  return layer;
}

LayerSpec make_transformer_block() {
  return make_model({"transformer", {{"layers", "1"}, {"hidden", "12"}, {"heads", "3"}, {"sequence", "8"}}},
                    TensorSpec({6}, ElementKind::int64), 9, true)
      .layers[1];
}

std::vector<Subject> subjects() {
  const LayerSpec stem =
      plain({{"conv", Conv2d{3, 8, 7, 2, 3}}, {"bn", BatchNorm{8}}, {"relu", Relu{}}, {"max", MaxPool{}}});
  return {
      {"Conv", plain({{"conv", Conv2d{4, 6, 3, 1, 1}}}), {4, 9, 7}},
      {"ConvStride", plain({{"conv", Conv2d{4, 6, 3, 2, 0}}}), {4, 9, 7}},
      {"ConvOnOnePixel", plain({{"conv", Conv2d{64, 32, 3, 1, 1}}}), {64, 1, 1}},
      {"ConvFirst", plain({{"conv", Conv2d{3, 8, 3, 1, 1}}}), {3, 8, 8}, true},
      {"BatchNorm", plain({{"bn", BatchNorm{8}}}), {8, 5, 5}},
      {"BatchNormFirst", plain({{"bn", BatchNorm{8}}}), {8, 5, 5}, true},
      {"BatchNormBy", norm_by_statistics(false), {8, 5, 5}},
      {"BatchNormByFirst", norm_by_statistics(true), {8, 5, 5}, true},
      {"Stem", stem, {3, 32, 32}, true},
      {"StemInside", stem, {3, 32, 32}},
      {"Residual", block(8, 8, 1, false), {8, 6, 6}},
      {"ResidualProjected", block(8, 12, 2, true), {8, 6, 6}},
      {"ResidualOnOnePixel", block(16, 16, 1, false), {16, 1, 1}},
      {"ResidualFirst", block(8, 12, 2, true), {8, 6, 6}, true},
      {"Head", plain({{"gap", GlobalAveragePool{}}, {"fc", Linear{32, 10}}}), {32, 3, 3}},
      {"HeadFirst", plain({{"gap", GlobalAveragePool{}}, {"fc", Linear{32, 10}}}), {32, 3, 3}, true},
      {"HeadOnOnePixel", plain({{"gap", GlobalAveragePool{}}, {"fc", Linear{32, 10}}}), {32, 1, 1}},
      {"LayerNorm", plain({{"ln", LayerNorm{24}}}), {24}},
      {"LayerNormFirst", plain({{"ln", LayerNorm{24}}}), {24}, true},
      {"GroupNorm", plain({{"gn", GroupNorm{8, 4}}}), {8, 5, 3}},
      {"GroupNormFirst", plain({{"gn", GroupNorm{8, 4}}}), {8, 5, 3}, true},
      {"GroupNormPlain", plain({{"conv", Conv2d{8, 8}}, {"gn", GroupNorm{8, 4, false}}}), {8, 5, 3}},
      {"GroupNormAfterConv",
       plain({{"conv", Conv2d{3, 8, 3, 1, 1}}, {"gn", GroupNorm{8, 4}}, {"relu", Relu{}}}),
       {3, 5, 6},
       true},
      {"Linear", plain({{"flat", Flatten{}}, {"fc", Linear{60, 7}}}), {3, 4, 5}},
      {"PerceptronFirst",
       plain({{"flat", Flatten{}}, {"fc", Linear{60, 16}}, {"ln", LayerNorm{16}}, {"relu", Relu{}}}),
       {3, 4, 5},
       true},
      {"PerceptronResidual", residual({{"fc", Linear{16, 16}}, {"ln", LayerNorm{16}}}, {}), {16}},
      {"ConvBias", plain({{"conv", Conv2d{.in = 4, .out = 6, .kernel = 3, .padding = 1, .bias = true}}}), {4, 9, 7}},
      {"ConvGroups", plain({{"conv", Conv2d{.in = 4, .out = 6, .kernel = 3, .groups = 2}}}), {4, 9, 7}},
      {"ConvOblong", plain({{"conv", Conv2d{.in = 4, .out = 6, .kernel = {1, 7}, .padding = {0, 3}}}}), {4, 9, 9}},
      {"Depthwise",
       plain({{"conv", Conv2d{8, 8, 3, 2, 1, 8, true}}, {"bn", BatchNorm{8}}, {"relu6", Relu6{}}}),
       {8, 9, 9}},
      {"LinearNoBias", plain({{"fc", Linear{12, 7, false}}}), {12}},
      {"LinearOfASequence", plain({{"fc", Linear{12, 7}}, {"gelu", Gelu{}}, {"fc2", Linear{7, 5, false}}}), {6, 12}},
      {"Attention", plain({{"qkv", Linear{12, 36}}, {"attention", Attention{3}}, {"out", Linear{12, 12}}}), {6, 12}},
      {"Positions", plain({{"wpe", Positions{8, 12}}, {"ln", LayerNorm{12}}}), {6, 12}},
      {"Embedding", plain({{"wte", Embedding{9, 12}}, {"wpe", Positions{6, 12}}}), TensorSpec({6}, ElementKind::int64),
       true},
      {"Block", make_transformer_block(), {6, 12}},
      {"Dropout", plain({{"fc", Linear{12, 64}}, {"drop", Dropout{0.3}}, {"fc2", Linear{64, 3}}}), {12}},
      {"NoParameters",
       plain({{"relu", Relu{}},
              {"pad", Pad{1, 1, 1, 1}},
              {"up", Upsample{}},
              {"max", MaxPool{}},
              {"norm", GroupNorm{4, 4, false}},
              {"leaky", LeakyRelu{}},
              {"mean", AveragePool{}},
              {"cat", Concat{}},
              {"means", AdaptiveAveragePool{2}}}),
       {4, 8, 8}},
  };
}

/// The same tensors for the same subject.
modules::LayerTensors fresh_tensors(const Subject& subject, Type type) {
  modules::LayerTensors tensors =
      modules::allocate_tensors(subject.layer, type == Type::fp64 ? torch::kFloat64 : torch::kFloat32);
  const torch::NoGradGuard no_grad;
  for (std::size_t p = 0; p < tensors.parameters.size(); ++p) {
    torch::Tensor& parameter = tensors.parameters[p];
    parameter.copy_(pattern(static_cast<std::int64_t>(p), parameter.numel()).view_as(parameter) + 0.1);
  }
  return tensors;
}

torch::Tensor input_of(const Subject& subject, Type type, int micro_batch, int samples) {
  const TensorSpec in = subject.in;
  const auto element = type == Type::fp64                     ? torch::kFloat64
                       : type == Type::bf16 && !subject.first ? torch::kBFloat16
                                                              : torch::kFloat32;
  const torch::Tensor x = pattern(100 + micro_batch, samples * in.elements());
  if (in.kind() == ElementKind::int64) return x.view(modules::sizes_of(in, samples)).add(0.5).mul(9).to(torch::kInt64);
  return x.view(modules::sizes_of(in, samples)).to(element).requires_grad_(!subject.first);
}

/// One micro-batch's graph: forward done, backward not yet.
struct Graph {
  torch::Tensor x, y;
};

Graph trace(const Subject& subject, const modules::LayerTensors& tensors, Type type, int micro_batch, int samples,
            const modules::ForwardMode& mode = {}) {
  const torch::Tensor x = input_of(subject, type, micro_batch, samples);
  const modules::AutocastGuard autocast(type == Type::bf16, torch::kCPU);
  return {x, modules::forward(subject.layer, tensors, x, mode)};
}

void backward(const Graph& graph, int micro_batch) {
  const torch::Tensor gradient = pattern(200 + micro_batch, graph.y.numel()).view_as(graph.y).to(graph.y.scalar_type());
  graph.y.backward(gradient);
}

void expect_same(const torch::Tensor& actual, const torch::Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.defined(), expected.defined()) << what;
  if (!expected.defined()) return;
  EXPECT_EQ(actual.scalar_type(), expected.scalar_type()) << what;
  EXPECT_EQ(actual.strides(), expected.strides()) << what;
  EXPECT_TRUE(actual.equal(expected)) << what;
}

TEST(SplitBackwardSubjects, HaveEveryOperation) {
  std::vector<LayerSpec> layers;
  for (const Subject& subject : subjects()) layers.push_back(subject.layer);
  EXPECT_THAT(operations_missing_in(layers), testing::IsEmpty());
}

class SplitBackward : public testing::TestWithParam<std::tuple<Type, Subject>> {
 protected:
  Type type() const { return std::get<0>(GetParam()); }
  const Subject& subject() const { return std::get<1>(GetParam()); }
};

TEST_P(SplitBackward, GivesTheGradientsOfTheOrdinaryOne) {
  for (const int samples : {1, 2, 5}) {
    if (samples == 1 && subject().in.elements() == subject().in[0] && subject().name != "HeadOnOnePixel")
      continue;  // no batch statistics
    const modules::LayerTensors ordinary = fresh_tensors(subject(), type()), split = fresh_tensors(subject(), type());
    const Graph expected = trace(subject(), ordinary, type(), 0, samples);
    backward(expected, 0);

    modules::WeightGradients later;
    const Graph actual = trace(subject(), split, type(), 0, samples, {.deferred = &later});
    expect_same(actual.y.detach(), expected.y.detach(), "output");
    if (actual.y.requires_grad()) backward(actual, 0);
    expect_same(actual.x.grad(), expected.x.grad(), "input gradient");
    for (const torch::Tensor& parameter : split.parameters) EXPECT_FALSE(parameter.grad().defined());
    later.run();
    EXPECT_TRUE(later.empty());
    for (std::size_t p = 0; p < split.parameters.size(); ++p)
      expect_same(split.parameters[p].grad(), ordinary.parameters[p].grad(), parameters(subject().layer)[p].name);
    for (std::size_t b = 0; b < split.buffers.size(); ++b)
      expect_same(split.buffers[b], ordinary.buffers[b], buffers(subject().layer)[b].name);
  }
}

/// Four micro-batches of unequal size through the ordinary backward.
modules::LayerTensors accumulated(const Subject& subject, Type type) {
  modules::LayerTensors tensors = fresh_tensors(subject, type);
  for (int m = 0; m < 4; ++m) {
    const Graph graph = trace(subject, tensors, type, m, 2 + m);
    if (graph.y.requires_grad()) backward(graph, m);
  }
  return tensors;
}

void expect_same_gradients(const modules::LayerTensors& actual, const modules::LayerTensors& expected) {
  for (std::size_t p = 0; p < expected.parameters.size(); ++p)
    expect_same(actual.parameters[p].grad(), expected.parameters[p].grad(), "parameter " + std::to_string(p));
}

TEST_P(SplitBackward, WeightPartsRunAtAnyLaterTimeInTheirOrder) {
  const modules::LayerTensors expected = accumulated(subject(), type());
  modules::LayerTensors split = fresh_tensors(subject(), type());
  std::vector<modules::WeightGradients> later(4);
  std::vector<Graph> graphs;
  const auto input_part = [&](int m) {
    if (graphs[m].y.requires_grad()) backward(graphs[m], m);
    graphs[m] = {};
  };
  for (int m = 0; m < 4; ++m) graphs.push_back(trace(subject(), split, type(), m, 2 + m, {.deferred = &later[m]}));
  input_part(0);
  input_part(1);
  later[0].run();
  input_part(2);
  input_part(3);
  for (int m : {1, 2, 3}) later[m].run();
  expect_same_gradients(split, expected);
}

TEST_P(SplitBackward, GraphsMayShareOneQueue) {
  const modules::LayerTensors expected = accumulated(subject(), type());
  modules::LayerTensors split = fresh_tensors(subject(), type());
  modules::WeightGradients later;
  for (int m = 0; m < 4; ++m) {
    const Graph graph = trace(subject(), split, type(), m, 2 + m, {.deferred = &later});
    if (graph.y.requires_grad()) backward(graph, m);
    if (m == 1) later.run();
  }
  later.run();
  expect_same_gradients(split, expected);
}

TEST_P(SplitBackward, SecondForwardLeavesTheStatisticsAlone) {
  const modules::LayerTensors once = fresh_tensors(subject(), type()), twice = fresh_tensors(subject(), type());
  const Graph expected = trace(subject(), once, type(), 0, 3);
  trace(subject(), twice, type(), 0, 3);
  modules::WeightGradients later;
  for (const modules::ForwardMode& mode : {modules::ForwardMode{.update_statistics = false},
                                           modules::ForwardMode{.deferred = &later, .update_statistics = false}}) {
    const Graph again = trace(subject(), twice, type(), 0, 3, mode);
    expect_same(again.y.detach(), expected.y.detach(), "output");
    for (std::size_t b = 0; b < once.buffers.size(); ++b)
      expect_same(twice.buffers[b], once.buffers[b], buffers(subject().layer)[b].name);
  }
}

/// The first nodes, and behind them an activation that takes the memory of their output where it may.
Subject written_over(Subject subject, std::size_t nodes) {
  subject.layer.nodes.erase(subject.layer.nodes.begin() + static_cast<std::ptrdiff_t>(nodes),
                            subject.layer.nodes.end());
  append(subject.layer, {{"over", Relu{}}}, static_cast<int>(nodes) - 1);
  return subject;
}

TEST_P(SplitBackward, ReadsNothingThatIsWrittenOver) {
  for (std::size_t nodes = 1; nodes <= subject().layer.nodes.size(); ++nodes) {
    const Subject over = written_over(subject(), nodes);
    const modules::LayerTensors tensors = fresh_tensors(over, type());
    modules::WeightGradients later;
    for (modules::WeightGradients* deferred : {static_cast<modules::WeightGradients*>(nullptr), &later}) {
      const Graph graph = trace(over, tensors, type(), 0, 3, {.deferred = deferred});
      if (!graph.y.requires_grad()) continue;
      EXPECT_NO_THROW(backward(graph, 0)) << to_text(over.layer.nodes[nodes - 1].operation);
    }
  }
}

/// Two micro-batches through a network cut into layers; the weight parts of each follow its last input part.
Network trained(ModelSpec model, Type type, bool split) {
  Network network(std::move(model), type == Type::fp64 ? torch::kFloat64 : torch::kFloat32);
  fill(network);
  const std::size_t layers = network.layers.size();
  const TensorSpec in = network.model.input;
  for (int m = 0; m < 2; ++m) {
    std::vector<modules::WeightGradients> later(layers);
    std::vector<torch::Tensor> inputs{
        pattern(m, 3 * in.elements()).view(modules::sizes_of(in, 3)).to(network.parameters()[0])};
    std::vector<torch::Tensor> outputs;
    for (std::size_t l = 0; l < layers; ++l) {
      const modules::AutocastGuard autocast(type == Type::bf16, torch::kCPU);
      const modules::ForwardMode mode{.deferred = split ? &later[l] : nullptr};
      outputs.push_back(modules::forward(network.model.layers[l], network.layers[l], inputs.back(), mode));
      inputs.push_back(outputs.back().detach().requires_grad_());
    }
    inputs.back().square().sum().backward();
    for (std::size_t l = layers; l-- > 0;) outputs[l].backward(inputs[l + 1].grad());
    for (std::size_t l = layers; l-- > 0;) later[l].run();
  }
  return network;
}

class SplitNetwork : public testing::TestWithParam<Type> {};

TEST_P(SplitNetwork, TrainsAsTheWholeOne) {
  for (const ModelSpec& model : {make_model({"resnet18", {}}, {3, 32, 32}, 10, true),
                                 make_model({"mlp", {{"layers", "4"}, {"hidden", "96"}}}, {3, 16, 16}, 10, true)}) {
    const Network expected = trained(model, GetParam(), false), actual = trained(model, GetParam(), true);
    for (std::size_t l = 0; l < model.layers.size(); ++l) {
      SCOPED_TRACE(model.name + " " + model.layers[l].name);
      expect_same_gradients(actual.layers[l], expected.layers[l]);
      for (std::size_t b = 0; b < expected.layers[l].buffers.size(); ++b)
        expect_same(actual.layers[l].buffers[b], expected.layers[l].buffers[b], "buffer");
    }
  }
}

std::string type_name(Type type) { return type == Type::fp32 ? "Fp32" : type == Type::fp64 ? "Fp64" : "Bf16"; }

INSTANTIATE_TEST_SUITE_P(Types, SplitNetwork, testing::Values(Type::fp32, Type::fp64, Type::bf16),
                         [](const auto& test) { return type_name(test.param); });

INSTANTIATE_TEST_SUITE_P(Layers, SplitBackward,
                         testing::Combine(testing::Values(Type::fp32, Type::fp64, Type::bf16),
                                          testing::ValuesIn(subjects())),
                         [](const auto& test) {
                           return std::get<1>(test.param).name + type_name(std::get<0>(test.param));
                         });

}  // namespace
}  // namespace parabench::models
