#include "parallelism/exec/sgd.h"

#include <gtest/gtest.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>

namespace parabench {
namespace {

class Rule : public testing::TestWithParam<SgdRule> {};

TEST_P(Rule, EqualsTorchOverSeveralSteps) {
  const SgdRule rule = GetParam();
  const std::int64_t n = 70001;  // several tasks and a remainder
  torch::manual_seed(3);
  auto expected = torch::randn({n}, torch::kFloat64).requires_grad_();
  auto weights = expected.detach().clone(), velocity = torch::zeros({n}, torch::kFloat64);
  torch::optim::SGD optimizer(
      {expected}, torch::optim::SGDOptions(rule.lr).momentum(rule.momentum).weight_decay(rule.weight_decay));
  for (int step = 0; step < 4; ++step) {
    auto gradient = torch::randn({n}, torch::kFloat64);
    expected.mutable_grad() = gradient.clone();
    optimizer.step();
    auto next = torch::empty_like(weights);
    sgd_update(rule, {{weights, next, rule.momentum != 0 ? velocity : torch::Tensor(), gradient}});
    weights = next;
  }
  EXPECT_LE((weights - expected.detach()).abs().max().item<double>(), 1e-14);
}

INSTANTIATE_TEST_SUITE_P(Rules, Rule,
                         testing::Values(SgdRule{0.1, 0.9, 0.0}, SgdRule{0.01, 0.0, 0.0}, SgdRule{0.1, 0.9, 0.05},
                                         SgdRule{0.1, 0.0, 0.05}));

}  // namespace
}  // namespace parabench
