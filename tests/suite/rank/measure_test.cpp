// What a rank reports of a measured launch.
#include "suite/rank/measure.h"

#include <gtest/gtest.h>

#include <mutex>

#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/plan/routes.h"
#include "tests/suite/rank/small_launch.h"

namespace parabench::rank {
namespace {

results::Measured measured_with(int ranks_on_device) {
  static exec::MemoryAccount accounts[2];
  Launch launch = small_launch("gpipe/np:2/batch:8/micro:2");
  launch.command.steps = 2;
  launch.command.warmup = 1;
  results::Measured result;
  std::mutex mutex;
  comm::run_thread_ranks({2, plan::collective_groups(launch.plan).declared}, [&](comm::Communicator& comm) {
    const std::unique_ptr<exec::Device> device = exec::cpu_device(accounts[comm.rank().value]);
    const results::Measured mine = measure(launch, comm, *device, {.cpuset = "0", .ranks_on_device = ranks_on_device});
    const std::lock_guard lock(mutex);
    if (comm.rank() == Rank(0)) result = mine;
  });
  return result;
}

TEST(Measure, EachRankTellsWhereItsStepGoes) {
  const results::Measured measured = measured_with(1);
  EXPECT_EQ(measured.ranks.size(), 2u);
  for (const results::RankMeasured& rank : measured.ranks) EXPECT_TRUE(rank.breakdown_s);
}

TEST(Measure, TheLaunchHasItsCanary) {
  const results::Measured measured = measured_with(1);
  ASSERT_EQ(measured.canaries.size(), 1u);
  EXPECT_GT(measured.canaries[0].matrix_product_s, 0);
  EXPECT_GT(measured.canaries[0].triad_s, 0);
  EXPECT_GE(measured.canaries[0].involuntary_switches, 0);
}

TEST(Measure, RanksThatShareAGpuHaveNoBreakdown) {
  const results::Measured measured = measured_with(2);
  EXPECT_GT(measured.step_time_s.samples.at(0).at(0), 0);
  EXPECT_EQ(measured.ranks.size(), 2u);
  for (const results::RankMeasured& rank : measured.ranks) EXPECT_FALSE(rank.breakdown_s);
}

}  // namespace
}  // namespace parabench::rank
