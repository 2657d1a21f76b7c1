#include "parallelism/plan/partition/replicated_stage.h"

#include <gtest/gtest.h>

#include <random>

namespace parabench::plan {
namespace {

constexpr SyncModel all_models[] = {SyncModel::ring, SyncModel::preprint, SyncModel::sosp, SyncModel::code};

// C = 12 s, w = 60 bytes, B = 10 bytes/s, m = 3: 2(m-1)w/(mB) = 8 s.
TEST(ReplicatedStage, PricesEachVariantOfItsGradientSum) {
  const StageLoad load{12, 60, 0};
  EXPECT_DOUBLE_EQ(stage_period(load, 3, {10, SyncModel::ring}), 12.0 / 3);
  EXPECT_DOUBLE_EQ(stage_period(load, 3, {10, SyncModel::preprint}), 16.0 / 3);
  EXPECT_DOUBLE_EQ(stage_period(load, 3, {10, SyncModel::sosp}), 24.0 / 3);
  EXPECT_DOUBLE_EQ(stage_period(load, 3, {10, SyncModel::code}), 28.0 / 3);
}

// B = 5 bytes/s: 2(m-1)w/(mB) = 16 s; messages at 10 bytes/s.
TEST(ReplicatedStage, SumsAtARateOfItsOwn) {
  EXPECT_DOUBLE_EQ(stage_period({12, 60, 5}, 3, {10, SyncModel::ring, 5}), 16.0 / 3);
  EXPECT_DOUBLE_EQ(stage_period({12, 60, 5}, 3, {10, SyncModel::sosp, 5}), 48.0 / 3);
  EXPECT_DOUBLE_EQ(stage_period({12, 60, 100}, 3, {10, SyncModel::ring, 5}), 20);
}

TEST(ReplicatedStage, AloneHasNothingToSum) {
  for (SyncModel sync : all_models) EXPECT_EQ(stage_period({12, 60, 0}, 1, {10, sync}), 12);
}

TEST(ReplicatedStage, WaitsForItsInputAndItsGradient) {
  const StageLoad load{1, 0, 100};
  EXPECT_EQ(stage_period(load, 4, {10, SyncModel::ring}), 20);
  EXPECT_EQ(stage_period(load, 4, {10, SyncModel::preprint}), 20);
  EXPECT_EQ(stage_period(load, 4, {10, SyncModel::sosp}), 20);
  EXPECT_EQ(stage_period(load, 4, {10, SyncModel::code}), 5);
}

TEST(ReplicatedStage, NumbersOfReplicasWithinABoundAreNeighbours) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> amount(0, 40);
  constexpr int most = 40;
  for (int round = 0; round < 500; ++round) {
    const StageLoad load{amount(random) * 1.0, amount(random), round % 3 == 0 ? amount(random) : 0};
    for (SyncModel sync : all_models) {
      const ReplicaLink link{3, sync};
      const double bound = stage_period(load, 1 + amount(random), link);  // attained: equality counts
      const ReplicaRange range = replicas_within(load, bound, most, link);
      for (int m = 2; m <= most; ++m) {
        EXPECT_EQ(range.first <= m && m <= range.last, stage_period(load, m, link) <= bound) << "round " << round;
      }
      for (int guess = 2; guess <= most + 1; ++guess) {
        const ReplicaRange guessed = replicas_within(load, bound, most, link, guess);
        EXPECT_EQ(guessed.first, range.first) << "round " << round << ", guess " << guess;
        EXPECT_EQ(guessed.last, range.last) << "round " << round << ", guess " << guess;
      }
    }
  }
}

TEST(ReplicatedStage, OfOneDeviceHasNoRangeOfReplicas) {
  const ReplicaRange range = replicas_within({1, 1, 0}, 100, 1, {1, SyncModel::ring});
  EXPECT_GT(range.first, range.last);
}

}  // namespace
}  // namespace parabench::plan
