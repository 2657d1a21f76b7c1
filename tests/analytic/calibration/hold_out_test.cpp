// What is left where a case may not be predicted from its own measurements.
#include "analytic/calibration/hold_out.h"

#include <gtest/gtest.h>

#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

/// Two ranks with pieces of 16 samples.
plan::Plan pieces_of_16() { return test_plan(case_of("data-parallel", 2, 32), 4); }

/// Of the layers of that plan, with one rank busy and with both.
Calibration measured_at(const std::vector<int>& samples) {
  Calibration calibration;
  const models::ModelSpec model = chain(4);
  for (const int busy : {1, 2})
    for (int l = 0; l < 4; ++l) {
      auto& timings =
          calibration.layers[layer_key(model.layers[l], model.input, l == 0, case_of("sequential", 1, 1), busy)];
      timings.clear();  // equal layers share their key
      for (const int n : samples) timings.push_back({.samples = n, .forward_s = 1e-3 * n, .backward_s = 2e-3 * n});
    }
  calibration.all_reduce[{"mpi", 2}] = {{1000, 1e-5}};
  return calibration;
}

std::vector<int> samples_of(const std::vector<LayerTiming>& timings) {
  std::vector<int> samples;
  for (const LayerTiming& one : timings) samples.push_back(one.samples);
  return samples;
}

TEST(HoldOut, LeavesOtherSizesAndAllThatKnowsNoSamples) {
  const Calibration all = measured_at({4, 8, 16});
  const auto left = without_own_samples(all, Sizes(chain(4)), pieces_of_16());
  ASSERT_TRUE(left);
  ASSERT_EQ(left->layers.size(), all.layers.size());
  for (const auto& [key, timings] : left->layers) EXPECT_EQ(samples_of(timings), (std::vector{4, 8})) << key.layer;
  EXPECT_EQ(left->all_reduce.size(), 1u);
}

TEST(HoldOut, LeavesLayersOfOtherModelsAndDropsKeysThatAreEmpty) {
  Calibration all = measured_at({4, 8, 16});
  const LayerKey other{.layer = "another layer"};
  all.layers[other] = {{.samples = 16}};
  LayerKey busier = measured_at({16}).layers.begin()->first;  // of a case with more ranks: not looked up by this one
  busier.busy_ranks = 4;
  all.layers[busier] = {{.samples = 16}};
  const auto left = without_own_samples(all, Sizes(chain(4)), pieces_of_16());
  ASSERT_TRUE(left);
  EXPECT_EQ(samples_of(left->layers.at(other)), std::vector{16});
  EXPECT_FALSE(left->layers.contains(busier));
}

TEST(HoldOut, IsNothingWhereNoLineCanBeDrawn) {
  const auto of = [](const std::vector<int>& samples) {
    return without_own_samples(measured_at(samples), Sizes(chain(4)), pieces_of_16());
  };
  EXPECT_FALSE(of({8, 16}));
  EXPECT_FALSE(of({16}));
  EXPECT_TRUE(of({8, 32})) << "nothing of its own was measured";
}

TEST(HoldOut, OfSplitBackwardsAsksForTheirHalves) {
  const plan::Plan plan = test_plan(case_of("zb-h1", 2, 32, 2), 4);
  Calibration all = measured_at({4, 8, 16});
  for (auto& [key, timings] : all.layers)
    for (LayerTiming& one : timings)
      if (one.samples != 4) one.split = SplitTiming{.input_s = 1, .weight_s = 1};
  EXPECT_FALSE(without_own_samples(all, Sizes(chain(4)), plan)) << "halves of 8 alone are left";
  for (auto& [key, timings] : all.layers) timings.front().split = SplitTiming{.input_s = 1, .weight_s = 1};
  EXPECT_TRUE(without_own_samples(all, Sizes(chain(4)), plan));
}

}  // namespace
}  // namespace parabench::analytic
