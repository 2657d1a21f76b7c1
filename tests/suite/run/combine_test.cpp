#include "suite/run/combine.h"

#include <gmock/gmock.h>

#include <cmath>

namespace parabench::suite {
namespace {

results::Measured launch(std::vector<double> samples, double forward, std::int64_t parameters, std::int64_t workspace) {
  results::Measured m;
  m.step_time_s.samples = {std::move(samples)};
  m.losses = {parameters * 1.0};
  results::RankMeasured rank;
  rank.breakdown_s = Breakdown{.forward = forward};
  rank.bus_bandwidth_bytes_per_s = 10 * forward;
  rank.steps = results::WorkerSteps{.taken = 2 * forward, .too_late = forward};
  rank.peak_memory[MemoryCategory::parameters] = parameters;
  rank.peak_memory[MemoryCategory::workspace] = workspace;
  rank.peak_memory.resident = 10 * workspace;
  rank.peak_memory.reserved = 20 * parameters;
  rank.peak_memory.device_used = 30 * parameters;
  m.ranks = {rank};
  m.canaries = {{.matrix_product_s = forward, .triad_s = 1}};
  return m;
}

TEST(Combine, JoinsTheLaunchesOfACase) {
  const std::vector<results::Measured> launches = {launch({0.5, 0.5}, 0.1, 100, 5), launch({0.25, 0.5}, 0.3, 90, 20)};
  const results::Measured all = combine(launches, 32, 1e9 / 32);
  EXPECT_EQ(all.step_time_s.samples, (std::vector<std::vector<double>>{{0.5, 0.5}, {0.25, 0.5}}));
  EXPECT_DOUBLE_EQ(all.step_time_s.median, 0.5);
  EXPECT_DOUBLE_EQ(all.throughput_samples_per_s, 64);
  EXPECT_DOUBLE_EQ(all.achieved_flops_per_s, 2e9);
  EXPECT_EQ(all.losses, std::vector<double>{100});
  ASSERT_EQ(all.canaries.size(), 2u);
  EXPECT_EQ(all.canaries[0].matrix_product_s, 0.1);
  EXPECT_EQ(all.canaries[1].matrix_product_s, 0.3);
  EXPECT_DOUBLE_EQ(all.ranks[0].breakdown_s.value().forward, 0.2);
  EXPECT_DOUBLE_EQ(all.ranks[0].bus_bandwidth_bytes_per_s.value(), 2);
  EXPECT_DOUBLE_EQ(all.ranks[0].steps.value().taken, 0.4);
  EXPECT_DOUBLE_EQ(all.ranks[0].steps.value().too_late, 0.2);
  EXPECT_EQ(all.ranks[0].peak_memory[MemoryCategory::workspace], 20);  // the launch whose total is highest
  EXPECT_EQ(all.ranks[0].peak_memory.total_counted(), 110);
  EXPECT_EQ(all.ranks[0].peak_memory.resident, 200);
  EXPECT_EQ(all.ranks[0].peak_memory.reserved, 2000);
  EXPECT_EQ(all.ranks[0].peak_memory.device_used, 3000);
}

results::Equivalence with_references(std::vector<double> losses) {
  results::Equivalence e;
  e.status = results::EquivalenceStatus::pass;
  e.reference_losses = std::move(losses);
  return e;
}

TEST(JudgeLosses, AgreesWithinTheTolerance) {
  results::Equivalence e = with_references({2.0, 1.0, 0.5});
  judge_losses(e, std::vector{2.0019, 1.0, 0.5, 17.0}, 4);
  EXPECT_EQ(e.loss_agrees, true);
  judge_losses(e, std::vector{2.0021, 1.0, 0.5}, 4);
  EXPECT_EQ(e.loss_agrees, false);
  EXPECT_THAT(e.reason, testing::HasSubstr("step 0"));
  e.loss_tolerance = results::loss_tolerance(Precision::bf16);
  judge_losses(e, std::vector{2.03, 1.0, 0.5}, 4);
  EXPECT_EQ(e.loss_agrees, true);
  e.loss_tolerance = results::loss_tolerance(Precision::fp64);
  judge_losses(e, std::vector{2.0, 1.0, 0.5 + 1e-8}, 4);
  EXPECT_EQ(e.loss_agrees, false);
}

TEST(JudgeLosses, NotANumberOrAMissingLossDisagrees) {
  results::Equivalence e = with_references({2.0, 1.0, 0.5});
  judge_losses(e, std::vector{2.0, std::nan(""), 0.5}, 4);
  EXPECT_EQ(e.loss_agrees, false);
  judge_losses(e, std::vector{2.0, 1.0}, 4);
  EXPECT_EQ(e.loss_agrees, false);
}

TEST(JudgeLosses, AShortLaunchIsJudgedByItsSteps) {
  results::Equivalence e = with_references({2.0, 1.0, 0.5});
  judge_losses(e, std::vector{2.0}, 1);
  EXPECT_EQ(e.loss_agrees, true);
}

TEST(JudgeLosses, SaysNothingWithoutAReference) {
  results::Equivalence e;
  judge_losses(e, std::vector{2.0}, 4);
  EXPECT_FALSE(e.loss_agrees.has_value());
}

}  // namespace
}  // namespace parabench::suite
