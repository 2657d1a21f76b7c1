// What a rank reports of a measured launch.
#include <gtest/gtest.h>

#include <mutex>

#include "parallelism/comm/threads/world.h"
#include "parallelism/plan/routes.h"
#include "suite/rank/launch.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench {
namespace {

Measured measured_with(int ranks_on_device) {
  static MemoryAccount accounts[2];
  Launch launch;
  launch.command.steps = 2;
  launch.command.warmup = 1;
  launch.model = small_network();
  launch.source = small_source();
  launch.plan = small_plan("gpipe/np:2/batch:8/micro:2", 1);
  Measured result;
  std::mutex mutex;
  run_thread_ranks({2, collective_groups(launch.plan).declared}, [&](Communicator& comm) {
    const std::unique_ptr<Device> device = cpu_device(accounts[comm.rank().value]);
    const Measured mine = measure(launch, comm, *device, {.cpuset = "0", .ranks_on_device = ranks_on_device});
    const std::lock_guard lock(mutex);
    if (comm.rank() == Rank(0)) result = mine;
  });
  return result;
}

TEST(Measure, EachRankTellsWhereItsStepGoes) {
  const Measured measured = measured_with(1);
  EXPECT_EQ(measured.ranks.size(), 2u);
  for (const RankMeasured& rank : measured.ranks) EXPECT_TRUE(rank.breakdown_s);
}

TEST(Measure, RanksThatShareAGpuHaveNoBreakdown) {
  const Measured measured = measured_with(2);
  EXPECT_GT(measured.step_time_s.median, 0);
  EXPECT_EQ(measured.ranks.size(), 2u);
  for (const RankMeasured& rank : measured.ranks) EXPECT_FALSE(rank.breakdown_s);
}

}  // namespace
}  // namespace parabench
