// The optimizers of both kinds of devices, and the formulas of the reference, against PyTorch's: golden/make_golden.py.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/case_id.h"
#include "parallelism/exec/optimizer/formulas.h"
#include "parallelism/exec/optimizer/fused_loops.h"
#include "parallelism/exec/optimizer/fused_operators.h"

namespace parabench::exec {
namespace {

nlohmann::json golden() {
  std::ifstream in(PARABENCH_OPTIMIZERS_GOLDEN);
  EXPECT_TRUE(in);
  return nlohmann::json::parse(in);
}

OptimizerRule rule_of(const nlohmann::json& row) {
  std::string id = "m/d/sequential/np:1/batch:1/optimizer:" + row["optimizer"].get<std::string>();
  for (const auto& [key, value] : row["keys"].items()) id += "/" + key + ":" + value.dump();
  return optimizer_rule(parse_case(id));
}

torch::Tensor filled(std::int64_t n, const std::function<double(std::int64_t)>& value) {
  torch::Tensor tensor = torch::empty({n}, torch::kFloat64);
  for (std::int64_t i = 0; i < n; ++i) tensor.data_ptr<double>()[i] = value(i);
  return tensor;
}

torch::Tensor start(int tensor, std::int64_t n) {
  return filled(n, [=](std::int64_t i) { return tensor == 0 ? std::cos(0.3 * static_cast<double>(i) + 1) : 0.0; });
}

torch::Tensor gradient(int tensor, int step, std::int64_t n) {
  return filled(n, [=](std::int64_t i) { return std::sin(0.7 * static_cast<double>(i) + 1.3 * step + tensor); });
}

/// Trains all tensors by one of the implementations; called with a step's gradients, it returns the weights.
using Trainer = std::function<std::vector<torch::Tensor>(const std::vector<torch::Tensor>& gradients)>;
using MakeTrainer = Trainer (*)(const OptimizerRule& rule, std::vector<torch::Tensor> weights);

Trainer formulas(const OptimizerRule& rule, std::vector<torch::Tensor> weights) {
  return [=, histories = std::vector<OptimizerHistory>(weights.size())](const auto& gradients) mutable {
    for (std::size_t t = 0; t < weights.size(); ++t)
      weights[t] = next_weights(rule, weights[t], gradients[t], histories[t]);
    return weights;
  };
}

/// By turns in place and into the other of two slots, as plans with one and with several weight versions do.
template <auto update>
Trainer kernel(const OptimizerRule& rule, std::vector<torch::Tensor> weights) {
  std::vector<UpdateOperands> operands(weights.size());
  const torch::Tensor count = torch::zeros({1}, torch::kFloat32);
  for (std::size_t t = 0; t < weights.size(); ++t) {
    operands[t].weights = operands[t].next = weights[t];
    for (int s = 0; s < state_count(rule); ++s) operands[t].states[s] = torch::zeros_like(weights[t]);
    if (rule.kind == OptimizerKind::adam || rule.kind == OptimizerKind::adamw) operands[t].update = count;
  }
  return [=](const auto& gradients) mutable {
    count.add_(1);
    std::vector<torch::Tensor> result;
    for (std::size_t t = 0; t < operands.size(); ++t) {
      UpdateOperands& o = operands[t];
      o.weights = o.next;
      if (count.item<int>() % 2 == 0) o.next = torch::full_like(o.weights, 99);
      o.gradient = gradients[t].clone();
      result.push_back(o.next);
    }
    update(rule, operands);
    return result;
  };
}

/// The same in two parts of each tensor, as ranks have them that share updates.
template <auto update>
Trainer in_parts(const OptimizerRule& rule, std::vector<torch::Tensor> weights) {
  std::vector<UpdateOperands> operands(2 * weights.size());
  const torch::Tensor count = torch::zeros({1}, torch::kFloat32);
  const auto part = [](const torch::Tensor& tensor, std::size_t half) {
    const std::int64_t cut = tensor.numel() / 3;
    return half == 0 ? tensor.narrow(0, 0, cut) : tensor.narrow(0, cut, tensor.numel() - cut);
  };
  for (std::size_t p = 0; p < operands.size(); ++p) {
    UpdateOperands& o = operands[p];
    o.weights = o.next = part(weights[p / 2], p % 2);
    for (int s = 0; s < state_count(rule); ++s) o.states[s] = torch::zeros_like(o.weights);
    if (rule.kind == OptimizerKind::adam || rule.kind == OptimizerKind::adamw) o.update = count;
  }
  return [=](const auto& gradients) mutable {
    count.add_(1);
    for (std::size_t p = 0; p < operands.size(); ++p) {
      const torch::Tensor &w = weights[p / 2], &g = gradients[p / 2];
      operands[p].gradient = part(g, p % 2);
      if (find_optimizer(to_text(rule.kind)).reads_norms)
        operands[p].squares = torch::stack({w.square().sum(), g.square().sum()}).to(torch::kFloat64);
    }
    update(rule, operands);
    return weights;
  };
}

void expect_golden(MakeTrainer make, torch::ScalarType type, double tolerance) {
  const nlohmann::json file = golden();
  for (const nlohmann::json& row : file["rows"]) {
    const OptimizerRule rule = rule_of(row);
    std::vector<torch::Tensor> weights;
    for (std::size_t t = 0; t < file["sizes"].size(); ++t)
      weights.push_back(start(static_cast<int>(t), file["sizes"][t]).to(type));
    const Trainer train = make(rule, weights);
    for (int step = 0; step < file["steps"]; ++step) {
      std::vector<torch::Tensor> gradients;
      for (std::size_t t = 0; t < weights.size(); ++t)
        gradients.push_back(gradient(static_cast<int>(t), step, file["sizes"][t]).to(type));
      const std::vector<torch::Tensor> ours = train(gradients);
      for (std::size_t t = 0; t < ours.size(); ++t) {
        const torch::Tensor w = ours[t].to(torch::kFloat64);
        // The tensors differ in size by orders of magnitude, their elements do not.
        const double allowed = tolerance * w.abs().max().item<double>();
        const std::int64_t places[] = {0, w.numel() / 2, w.numel() - 1};
        for (std::size_t i = 0; i < 3; ++i) {
          EXPECT_NEAR(w[places[i]].item<double>(), row["weights"][step][t][i].get<double>(), allowed)
              << row["optimizer"] << " " << row["keys"] << ", step " << step << ", tensor " << t;
        }
      }
    }
  }
}

TEST(Optimizers, FormulasAreTorchs) { expect_golden(formulas, torch::kFloat64, 1e-13); }
TEST(Optimizers, LoopsAreTorchs) { expect_golden(kernel<update_by_loops>, torch::kFloat64, 1e-13); }
TEST(Optimizers, LoopsAreTorchsInSinglePrecision) { expect_golden(kernel<update_by_loops>, torch::kFloat32, 2e-6); }
TEST(Optimizers, OperatorsAreTorchs) { expect_golden(kernel<update_by_operators>, torch::kFloat64, 1e-13); }

TEST(Optimizers, PartsOfTensorsAreUpdatedAsTheWhole) {
  expect_golden(in_parts<update_by_loops>, torch::kFloat64, 1e-13);
  expect_golden(in_parts<update_by_operators>, torch::kFloat64, 1e-13);
}

TEST(Optimizers, LoopsCoverEveryElementOfManyTasks) {
  const std::int64_t n = 70001;  // several tasks and a remainder
  torch::manual_seed(3);
  for (const OptimizerRow& row : optimizers()) {
    Case spec;
    spec.optimizer.name = to_text(row.kind);
    const OptimizerRule rule = optimizer_rule(spec);
    const torch::Tensor weights = torch::randn({n}, torch::kFloat64);
    const Trainer ours = kernel<update_by_loops>(rule, {weights.clone()}), plain = formulas(rule, {weights});
    for (int step = 0; step < 3; ++step) {
      const torch::Tensor g = torch::randn({n}, torch::kFloat64);
      const torch::Tensor expected = plain({g})[0];
      EXPECT_LE((ours({g})[0] - expected).abs().max().item<double>(), 4e-15 * expected.abs().max().item<double>())
          << to_text(row.kind);
    }
  }
}

}  // namespace
}  // namespace parabench::exec
