// What a rank reports of a measured launch.
#include <gtest/gtest.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "parallelism/comm/threads/world.h"
#include "suite/rank/launch.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench {
namespace {

nlohmann::json measured_with(int ranks_on_device) {
  static MemoryAccount accounts[2];
  Launch launch;
  launch.options.steps = 2;
  launch.options.warmup = 1;
  launch.model = small_network();
  launch.source = small_source();
  launch.plan = small_plan("gpipe/np:2/batch:8/micro:2", 1);
  nlohmann::json result;
  std::mutex mutex;
  run_thread_ranks({2, reduction_groups(launch.plan)}, [&](Communicator& comm) {
    const std::unique_ptr<Device> device = cpu_device(accounts[comm.rank().value]);
    const nlohmann::json mine = measure(launch, comm, *device, {.cpuset = "0", .ranks_on_device = ranks_on_device});
    const std::lock_guard lock(mutex);
    if (comm.rank() == Rank(0)) result = mine.at("measured");
  });
  return result;
}

TEST(Measure, EachRankTellsWhereItsStepGoes) {
  for (const nlohmann::json& rank : measured_with(1).at("ranks")) EXPECT_TRUE(rank.at("breakdown_s").is_object());
}

TEST(Measure, RanksThatShareAGpuHaveNoBreakdown) {
  const nlohmann::json measured = measured_with(2);
  EXPECT_GT(measured.at("step_time_s").at("median"), 0);
  for (const nlohmann::json& rank : measured.at("ranks")) EXPECT_TRUE(rank.at("breakdown_s").is_null());
}

}  // namespace
}  // namespace parabench
