// Our networks against torchvision's, in float64: golden/make_golden.py wrote the expectations.
#include <gmock/gmock.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "models/spec/nets/nets.h"
#include "models/spec/synchronised.h"
#include "models/torch/loss.h"
#include "tests/models/spec/matrix_flops.h"
#include "tests/models/spec/operations.h"
#include "tests/models/torch/network.h"

namespace parabench::models {
namespace {

/// How far apart values may be: of themselves, and where they are nothing but rounding.
struct Tolerance {
  double relative = 1e-9, absolute = 0;
};
/// Batch norms in two parts round otherwise, and so do, back through a thousand layers, kernels for another processor.
/// What is left of a gradient before a batch norm is rounding alone.
constexpr Tolerance cut_tolerance{1e-8, 1e-13}, gradient_tolerance = cut_tolerance;

nlohmann::json read_golden(const std::string& file) {
  std::ifstream in(std::string(PARABENCH_GOLDEN) + "/" + file + ".json");
  EXPECT_TRUE(in) << file;
  return nlohmann::json::parse(in);
}

/// Compares names, norms and projections (make_golden.py's summary) of the listed tensors.
void expect_summaries(const nlohmann::json& rows, const std::vector<ParameterSpec>& specs,
                      const std::vector<torch::Tensor>& tensors, const Tolerance& tolerance) {
  ASSERT_EQ(specs.size(), tensors.size());
  for (const auto& row : rows) {
    const auto index = row[0].get<std::size_t>();
    ASSERT_LT(index, specs.size());
    EXPECT_EQ(specs[index].name, row[1].get<std::string>());
    const torch::Tensor flat = tensors[index].detach().reshape(-1);
    const double norm = row[2], projection = row[3];
    const double ours = flat.norm().item<double>();
    const double our_projection = flat.dot(pattern(row[0], flat.numel())).item<double>();
    const double allowed = tolerance.relative * norm + tolerance.absolute;
    EXPECT_NEAR(ours, norm, allowed) << specs[index].name;
    EXPECT_NEAR(our_projection, projection, allowed) << specs[index].name;
  }
}

std::vector<std::string> golden_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(PARABENCH_GOLDEN))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

ModelSpec model_of(const nlohmann::json& golden) {
  const std::vector<std::int64_t> size = golden["shape"];
  const bool tokens = size.size() == 2;
  const TensorSpec input = tokens ? TensorSpec({size[1]}, ElementKind::int64) : TensorSpec{size[1], size[2], size[3]};
  NamedChoice choice{golden["model"], {}};
  if (golden.contains("choice"))
    for (const auto& [key, value] : golden["choice"].items()) choice.parameters.emplace_back(key, value);
  return make_model(choice, input, golden["classes"], golden["stem"] != "imagenet");
}

TEST(GoldenFiles, HaveEveryOperation) {
  std::vector<ModelSpec> models;
  for (const std::string& file : golden_files()) {
    models.push_back(model_of(read_golden(file)));
    models.push_back(synchronised(models.back()));
  }
  EXPECT_THAT(operations_missing_in(layers_of(models)), testing::IsEmpty());
}

/// The rows of a family, as all of VGG, share their summary.
TEST(GoldenFiles, HaveEveryFamilyOfNetworks) {
  std::set<std::string> models, families;
  for (const std::string& file : golden_files()) models.insert(read_golden(file)["model"]);
  for (const Net& net : nets())
    if (models.contains(net.name)) families.insert(net.summary);
  for (const Net& net : nets()) EXPECT_TRUE(families.contains(net.summary)) << net.name;
}

void expect_golden_step(const nlohmann::json& golden, const ModelSpec& model, const Tolerance& tolerance = {}) {
  const std::vector<std::int64_t> size = golden["shape"];
  const int classes = golden["classes"];
  const bool tokens = size.size() == 2;
  Network network(model, torch::kFloat64);
  fill(network);

  torch::Tensor labels = torch::empty(tokens ? size : std::vector{size[0]}, torch::kInt64);
  torch::Tensor images = tokens ? torch::empty_like(labels) : pattern_images(size);
  for (std::int64_t n = 0; n < size[0]; ++n) {
    if (!tokens) labels[n] = (7 * n + 3) % classes;
    for (std::int64_t t = 0; tokens && t < size[1]; ++t) {
      images[n][t] = (31 * n + 7 * t * t + 3) % classes;
      labels[n][t] = (5 * n + 3 * t + 2) % classes;
    }
  }
  if (golden["stem"] == "masks") {
    labels = torch::empty({size[0], size[2], size[3]}, torch::kInt64);
    for (std::int64_t n = 0, pixels = size[2] * size[3]; n < size[0]; ++n)
      for (std::int64_t p = 0; p < pixels; ++p)
        labels.view({-1})[n * pixels + p] = (5 * n + 3 * p + p * p / 7) % classes;
  }
  const torch::Tensor logits = network.forward(images);
  const torch::Tensor loss = modules::cross_entropy(logits, labels, static_cast<double>(size[0]));
  loss.backward();

  const torch::Tensor expected = torch::tensor(golden["logits"].get<std::vector<double>>(), torch::kFloat64);
  const double error = (logits.detach().reshape(-1) - expected).abs().max().item<double>();
  EXPECT_LE(error, tolerance.relative * expected.abs().max().item<double>());
  EXPECT_NEAR(loss.item<double>(), golden["loss"], tolerance.relative * golden["loss"].get<double>());

  std::vector<ParameterSpec> parameter_specs, buffer_specs;
  for (const ParameterPlace& place : network.places())
    parameter_specs.push_back(parameters(network.model.layers[place.layer])[place.parameter]);
  for (const LayerSpec& layer : network.model.layers) {
    for (const ParameterSpec& spec : buffers(layer)) buffer_specs.push_back(spec);
  }
  EXPECT_EQ(parameter_count(network.model), golden["parameters"].get<std::int64_t>());
  const auto samples = static_cast<double>(size[0]);
  EXPECT_EQ(samples * matrix_flops(network.model).forward, golden["forward_flops"].get<double>());
  if (!golden["backward_flops"].is_null()) {
    EXPECT_EQ(samples * matrix_flops(network.model).backward, golden["backward_flops"].get<double>());
  }
  EXPECT_EQ(parameter_specs.size(), golden["tensors"][0].get<std::size_t>());
  EXPECT_EQ(buffer_specs.size(), golden["tensors"][1].get<std::size_t>());
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& parameter : network.parameters()) gradients.push_back(parameter.grad());
  expect_summaries(golden["gradients"], parameter_specs, gradients, gradient_tolerance);
  expect_summaries(golden["statistics"], buffer_specs, network.buffers(), tolerance);
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, OneTrainingStepIsTorchvisions) {
  const nlohmann::json golden = read_golden(GetParam());
  expect_golden_step(golden, model_of(golden));
}

/// Its layers cut at their batch norms, on one rank: the statistics are those of the batch.
TEST_P(Golden, OneTrainingStepOfTheCutNetworkIsToo) {
  const nlohmann::json golden = read_golden(GetParam());
  const ModelSpec model = model_of(golden);
  if (mixes_samples(model)) expect_golden_step(golden, synchronised(model), cut_tolerance);
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(golden_files()), [](const auto& test) {
  std::string name = test.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace parabench::models
