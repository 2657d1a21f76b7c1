// What counts as a difference, and what as rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "parallelism/exec/equivalence.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

TEST(Describe, TellsOfStatisticsOnlyWhereThereAreAny) {
  const Difference difference{.update = .25, .buffer = 0, .worst_parameter = "fc.bias (rank 0)"};
  const models::ModelSpec perceptron = models::make_model({"mlp", {}}, {3, 8, 8}, 4, true);
  EXPECT_EQ(describe(difference, perceptron), "updates differ by up to 0.25 (fc.bias (rank 0))");
  EXPECT_EQ(describe(difference, small_network()),
            "updates differ by up to 0.25 (fc.bias (rank 0)), batch-norm statistics by 0");
}

TEST(Compare, CountsANonFiniteTensorAsNaN) {
  const models::ModelSpec model = small_network();
  const plan::Plan plan = small_pieces(small_plan("sequential/np:1/batch:4"), model, 1);
  const ReferenceState reference = train_reference(plan, model, 1, small_source(), {});
  Trained trained{{reference.parameters}, {reference.buffers[0]}};
  trained.parameters[0][2][0] = trained.parameters[0][2][0] * std::nan("");
  EXPECT_TRUE(std::isnan(compare(plan, model, trained, reference).update));
}

TEST(Compare, WhatRoundingDecidesIsLeftOutAndNothingElse) {
  // Adam makes steps of the rounding that is all the gradient of a bias before a batch norm.
  const models::ModelSpec model = models::make_model({"vgg11-bn", {{"channels", "2"}}}, {3, 8, 8}, 4, true);
  plan::Plan plan = small_pieces(small_plan("sequential/np:1/batch:16/optimizer:adam", 3, model), model, 3);
  const ReferenceState reference = train_reference(plan, model, 3, small_source(), {});
  const Rounding rounding =
      rounding_between(reference, train_reference(plan, model, 3, small_source(), {}, {.nudge = rounding_nudge}));
  EXPECT_GT(rounding.updates[1][1], 1e-7) << "a bias";
  EXPECT_LT(rounding.updates[1][0], 1e-8) << "its convolution's weight";
  EXPECT_LT(rounding.decided_elements, most_decided);

  Trained trained{{reference.parameters}, {reference.buffers[0]}};
  torch::Tensor &weight = trained.parameters[0][1][0], &bias = trained.parameters[0][1][1];
  const torch::Tensor trained_bias = bias;
  bias = bias + 1e-12;
  EXPECT_GT(compare(plan, model, trained, reference).update, 1e-9);
  const Difference explained = compare(plan, model, trained, reference, &rounding, 1e-9);
  EXPECT_EQ(explained.update, 0);
  EXPECT_EQ(explained.left_out, 1);
  bias = bias + 1;
  EXPECT_GT(compare(plan, model, trained, reference, &rounding, 1e-9).update, 1) << "more than rounding explains";
  bias = trained_bias;
  weight = weight + 1e-4 * (weight - reference.initial[1][0]);
  EXPECT_NEAR(compare(plan, model, trained, reference, &rounding, 1e-9).update, 1e-4, 1e-6);
}

TEST(Rounding, ANetworkThatAmplifiesItTooMuchLeavesNothingToCompare) {
  const models::ModelSpec model = small_network();
  const plan::Plan plan = small_pieces(small_plan("sequential/np:1/batch:4"), model, 1);
  const ReferenceState reference = train_reference(plan, model, 1, small_source(), {});
  ReferenceState other = reference;
  for (auto& layer : other.parameters)
    for (torch::Tensor& tensor : layer) tensor = tensor * 1.001;
  EXPECT_GT(rounding_between(reference, other).decided_elements, most_decided);
  EXPECT_EQ(rounding_between(reference, reference).decided_elements, 0);
}

TEST(Rounding, OfTwoNudgesTheLargerOfEachCounts) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Rounding a{.updates = {{1e-9, 3e-9}, {nan}}, .buffers = {{{1e-5}}}, .decided_elements = 0.2};
  const Rounding b{.updates = {{2e-9, 1e-9}, {1e-9}}, .buffers = {{{inf}}}, .decided_elements = 0.1};
  for (const Rounding& larger : {larger_of(a, b), larger_of(b, a)}) {
    EXPECT_EQ(larger.updates[0], (std::vector{2e-9, 3e-9}));
    EXPECT_TRUE(std::isnan(larger.updates[1][0]));
    EXPECT_EQ(larger.buffers[0][0][0], inf);
    EXPECT_EQ(larger.decided_elements, 0.2);
  }
}

TEST(Compare, ASmallTensorCannotHideBehindALargeOne) {
  const models::ModelSpec model = small_network();
  const plan::Plan plan = small_pieces(small_plan("sequential/np:1/batch:4"), model, 1);
  const ReferenceState reference = train_reference(plan, model, 1, small_source(), {});
  Trained trained{{reference.parameters}, {reference.buffers[0]}};
  auto& bias = trained.parameters[0].back().back();
  bias = reference.initial.back().back() + 0.9 * (bias - reference.initial.back().back());
  const Difference difference = compare(plan, model, trained, reference);
  EXPECT_NEAR(difference.update, 0.1, 1e-6);
  EXPECT_EQ(difference.worst_parameter, "fc.bias (rank 0)");
}

/// Three steps of a case's reference with the sums of bf16 in an order; -1: rounded once.
ReferenceState in_order(const plan::Plan& plan, int first_term) {
  return train_reference(plan, small_network(), 3, small_source(), {}, {.first_term = first_term});
}

plan::Plan slow_plan(const std::string& rest) {
  plan::Plan plan = small_pieces(small_plan(rest), small_network(), 3);
  plan.spec.lr *= slow_training;
  return plan;
}

TEST(Rounding, OfSumsThatAreRoundedAtEveryAdditionDependsOnTheirOrder) {
  const plan::Plan plan = slow_plan("data-parallel/np:4/batch:16/compress:bf16");
  const ReferenceState once = in_order(plan, -1);
  std::vector<Rounding> by_order;
  for (int first = 0; first < 4; ++first)
    by_order.push_back(rounding_between(once, in_order(plan, first), decided_by_order(4)));
  for (int first = 0; first < 4; ++first) {
    std::vector<Rounding> others = by_order;
    others.erase(others.begin() + first);
    const double tolerance = tolerance_of_orders(others, 4).tolerance;
    EXPECT_GT(tolerance, 1e-4) << "about as much as a value of 8 bits is off";
    EXPECT_LT(tolerance, 0.125);
    for (const auto& layer : by_order[first].updates)
      for (const double d : layer) EXPECT_LE(d, tolerance) << "three orders tell of the fourth";
  }
}

TEST(Rounding, OfTwoCopiesHasOneOrder) {
  const plan::Plan plan = slow_plan("data-parallel/np:2/batch:8/compress:bf16");
  const ReferenceState once = in_order(plan, -1);
  for (int first : {0, 1})
    EXPECT_EQ(tolerance_of_orders({rounding_between(once, in_order(plan, first))}, 2).tolerance, 0);
}

TEST(Rounding, WhatOrdersDecideIsLeftOutOfTheToleranceOfAllElse) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const double decided = decided_by_order(4);
  EXPECT_LT(decided, 0.125 / 2);
  const auto [tolerance, rest] = tolerance_of_orders({{.updates = {{1e-3, decided}, {1e-3}}, .buffers = {{{nan}}}},
                                                      {.updates = {{2e-3, 1e-3}, {inf}}, .buffers = {{{1e-6}}}}},
                                                     4);
  EXPECT_DOUBLE_EQ(tolerance, 6e-3);
  EXPECT_EQ(rest.updates[0], (std::vector{0, decided}));
  EXPECT_EQ(rest.updates[1], (std::vector{inf}));
  EXPECT_TRUE(std::isnan(rest.buffers[0][0][0]));
}

}  // namespace
}  // namespace parabench::exec
