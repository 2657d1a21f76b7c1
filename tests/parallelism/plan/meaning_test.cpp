// Every strategy trains what its definition says, told by a symbolic run of the whole plan.
#include "tests/parallelism/plan/meaning.h"

#include <gmock/gmock.h>

#include <numeric>

#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

/// What gpipe makes of the same pieces over `steps` steps: the plain sum over a batch of pieces.
Plan plain(int pieces, int batch, int layers, int steps, const std::vector<LayerSkip>& skips = {}) {
  Case spec = case_of("gpipe", 1, batch);
  spec.micro = pieces;
  return unroll(test_plan(spec, layers, 1, skips), steps);
}

TEST(Meaning, OfShardedUpdatesIsThatOfWholeOnes) {
  for (const int copies : {1, 2, 3}) {
    const Plan plan = test_plan(pipeline_case("interleaved", 2, 4, 2, copies), 6);
    const auto usual = meaning_of(unroll(plan, 3));
    ASSERT_TRUE(usual);
    EXPECT_EQ(meaning_of(unroll(sharded(plan), 3)), usual);
  }
}

TEST(Meaning, OfAllSynchronousStrategiesIsThatOfThePlainSumOverTheirPieces) {
  std::mt19937 random(11);
  std::vector<std::string> seen;
  for (int round = 0; round < 600; ++round) {
    std::vector<LayerSkip> skips;
    const Plan plan = random_plan(random, &skips);
    // Copies that train apart come to the same only where there is one, and gradients that come too late are dropped.
    if (plan.asynchronous || plan.averaging.every > 0 || plan.taken > 0) continue;
    const int layers = plan.segments.back().first_layer + plan.segments.back().layers;
    const int pieces = micro_batches(plan) * plan.replicas;
    const auto meaning = meaning_of(plan, skips);
    ASSERT_TRUE(meaning) << plan.spec.strategy.name;
    const Plan reference = plain(pieces, plan.spec.batch, layers, plan.steps, skips);
    ASSERT_EQ(meaning, meaning_of(reference, skips)) << plan.spec.strategy.name;
    seen.push_back(plan.spec.strategy.name);
  }
  for (const Strategy& strategy : strategies()) {
    const Case usual = case_of(std::string(strategy.name), 1, 1);
    const bool is_other = delays_updates(usual) || strategy.listed == Listed::nowhere;
    EXPECT_EQ(std::ranges::find(seen, strategy.name) == seen.end(), is_other) << strategy.name;
  }
}

TEST(Meaning, TellsBatchesStepsAndCutsOfTheBatchApart) {
  const auto usual = meaning_of(plain(2, 6, 3, 2));
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->size(), 3u * 2u);
  EXPECT_NE(usual, meaning_of(plain(2, 5, 3, 2)));
  EXPECT_NE(usual, meaning_of(plain(3, 6, 3, 2)));
  EXPECT_NE(usual, meaning_of(plain(2, 6, 3, 1)));
}

/// One rank that trains the whole chain with the versions and the updates that a definition prescribes.
Plan delayed(const Plan& like, int (*version)(int stage, int stages, int step), const std::vector<int>& per_update) {
  Plan plan = like;
  RankProgram rank;
  rank.weight_versions = plan.steps + 1;
  for (int stage = 0; stage < plan.stages; ++stage) rank.holds.push_back({StageId(stage), ReplicaId(0)});
  for (int step = 0; step < plan.steps; ++step) {
    for (MicroBatchId m; m.value < micro_batches(plan); ++m) {
      for (int s = 0; s < plan.stages; ++s) {
        rank.compute().push_back(forward(SegmentId(s), m, StepId(step), VersionId(version(s, plan.stages, step))));
      }
      for (int s = plan.stages - 1; s >= 0; --s) {
        rank.compute().push_back(backward(SegmentId(s), m, StepId(step), VersionId(version(s, plan.stages, step))));
      }
    }
    for (int s = 0; s < plan.stages; ++s) {
      if ((step + 1) % per_update[s] == 0) {
        rank.compute().push_back(update(SegmentId(s), 1, StepId(step), VersionId((step + 1) / per_update[s])));
      }
    }
  }
  plan.ranks = {rank};
  return mark_accumulation(std::move(plan));
}

// Mini-batch n (from 1) reads version max(0, n - (P - s)) of stage s in both passes.
TEST(Meaning, OfPipedreamIsThatOfItsDelayedUpdates) {
  for (int stages = 1; stages <= 6; ++stages) {
    const Plan plan = pipedream_of(stages, 12);
    const auto rule = [](int s, int all, int step) { return std::max(0, step + 1 - (all - s)); };
    ASSERT_TRUE(meaning_of(plan));
    EXPECT_EQ(meaning_of(plan), meaning_of(delayed(plan, rule, std::vector<int>(stages, 1))));
    const auto synchronous = [](int, int, int step) { return step; };
    const auto undelayed = meaning_of(delayed(plan, synchronous, std::vector<int>(stages, 1)));
    EXPECT_EQ(meaning_of(plan) == undelayed, stages == 1);
  }
}

// Micro-batch k (from 1) of m per mini-batch reads version max(floor((k - 1) / m) - 1, 0) on all stages.
TEST(Meaning, OfPipedream2bwIsThatOfOneStepOfDelay) {
  for (int stages = 1; stages <= 4; ++stages) {
    const Plan plan = test_plan(pipeline_case("pipedream-2bw", stages, 4), stages, 7);
    const auto rule = [](int, int, int step) { return std::max(step - 1, 0); };
    ASSERT_TRUE(meaning_of(plan));
    EXPECT_EQ(meaning_of(plan), meaning_of(delayed(plan, rule, std::vector<int>(stages, 1))));
  }
}

// Versions count updates: a stage of r replicas updates after r mini-batches and has as many updates in flight as its
// replicas are mini-batches ahead, floor((R - 1 - ranks before) / r).
TEST(Meaning, OfReplicatedPipedreamIsThatOfFewerUpdates) {
  const auto expect = [](const std::string& replicas, const std::vector<int>& widths,
                         int (*rule)(int stage, int stages, int step)) {
    const Plan plan =
        pipedream_of(replicas, std::accumulate(widths.begin(), widths.end(), 0), static_cast<int>(widths.size()), 12);
    ASSERT_TRUE(meaning_of(plan)) << replicas;
    EXPECT_EQ(meaning_of(plan), meaning_of(delayed(plan, rule, widths))) << replicas;
  };
  expect("3-1", {3, 1}, [](int s, int, int step) { return s == 0 ? std::max(0, step / 3 - 1) : step; });
  expect("1-3", {1, 3}, [](int s, int, int step) { return s == 0 ? std::max(0, step - 3) : step / 3; });
  expect("2-2-1", {2, 2, 1}, [](int s, int, int step) {
    return s == 0 ? std::max(0, step / 2 - 2) : s == 1 ? std::max(0, step / 2 - 1) : step;
  });
  expect("4", {4}, [](int, int, int step) { return step / 4; });
}

}  // namespace
}  // namespace parabench::plan
