// What launches tell of the machine. Nothing here depends on how fast it is.
#include "suite/rank/canary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <vector>

#include "parallelism/comm/threads/world.h"
#include "parallelism/comm/timed_exchange.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/plan/routes.h"
#include "suite/rank/calibrate.h"
#include "suite/rank/communicate.h"
#include "tests/suite/rank/small_launch.h"

namespace parabench::rank {
namespace {

void expect_sound(const Canary& canary) {
  EXPECT_TRUE(std::isfinite(canary.matrix_product_s));
  EXPECT_GT(canary.matrix_product_s, 0);
  EXPECT_TRUE(std::isfinite(canary.triad_s));
  EXPECT_GT(canary.triad_s, 0);
  EXPECT_GE(canary.involuntary_switches, 0);
  EXPECT_GE(canary.steal_share.value_or(0), 0);
  EXPECT_LE(canary.steal_share.value_or(0), 1);
  EXPECT_GE(canary.matrix_product_spread.value(), 1);
}

TEST(Canary, IsOfTheSlowestRankAndOfEachProcessOnce) {
  const std::vector<RankCanary> ranks = {{"a 1", {2e-4, 5e-3, 0.25, 10, 1.5}},
                                         {"a 1", {3e-4, 4e-3, 0.25, 10}},
                                         {"a 2", {1e-4, 6e-3, std::nullopt, 7}},
                                         {"b 1", {1e-4, 1e-3, 0.5, 100, 1.125}}};
  EXPECT_EQ(canary_of(ranks), (Canary{3e-4, 6e-3, 0.5, 117, 1.5}));
  EXPECT_EQ(canary_of(std::span(ranks).subspan(2, 1)), ranks[2].canary) << "a host that tells no steal";
}

TEST(Canary, SpreadIsTheSlowestTimeOverTheFastestWheneverTheseWere) {
  EXPECT_EQ(mean_and_spread(std::vector{1.0, 3.0, 2.0}), (std::pair{2.0, 3.0}));
  EXPECT_EQ(mean_and_spread(std::vector{2.0}), (std::pair{2.0, 1.0}));
}

TEST(Canary, IsToldByRankZeroAndTimedOnAll) {
  static exec::MemoryAccount accounts[2];
  std::optional<Canary> told[2];
  comm::run_thread_ranks({2, {}}, [&](comm::Communicator& comm) {
    const auto device = exec::cpu_device(accounts[comm.rank().value]);
    const exec::AccountScope scope(device->account(), MemoryCategory::workspace);
    CanaryWatch watch({.np = 2}, comm);
    watch.between();
    told[comm.rank().value] = watch.end();
    EXPECT_EQ(device->account().peak().total_counted(), 0) << "nothing of it is counted as a case's memory";
  });
  ASSERT_TRUE(told[0]);
  EXPECT_FALSE(told[1]);
  expect_sound(*told[0]);
}

TEST(Canary, ALaunchOfExchangesSaysWhatItWasLike) {
  const protocol::ExchangeWork work{.setting = {.comm = CommKind::threads},
                                    .iterations = 1,
                                    .warmup = 0,
                                    .exchanges = {{ExchangeKind::all_reduce, 4096, 2}}};
  std::optional<Canary> told[2];
  comm::run_thread_ranks({2, comm::exchange_groups(2, work.exchanges)},
                         [&](comm::Communicator& comm) { told[comm.rank().value] = communicate(work, comm).canary; });
  ASSERT_TRUE(told[0]);
  EXPECT_FALSE(told[1]);
  expect_sound(*told[0]);
}

TEST(Canary, ACalibrationSaysWhatItsLaunchWasLike) {
  static exec::MemoryAccount accounts[2];
  Launch launch = small_launch("gpipe/np:2/batch:8/micro:2");
  launch.command.phase = protocol::Phase::calibrate;
  analytic::Calibration calibration;
  std::mutex mutex;
  comm::run_thread_ranks({2, plan::collective_groups(launch.plan).declared}, [&](comm::Communicator& comm) {
    const auto device = exec::cpu_device(accounts[comm.rank().value]);
    analytic::Calibration mine = calibrate(launch, comm, *device, {});
    const std::lock_guard lock(mutex);
    if (comm.rank() == Rank(0)) calibration = std::move(mine);
  });
  EXPECT_TRUE(calibration.launches.empty()) << "it is one launch's";
  EXPECT_EQ(calibration.ranks, 2);
  EXPECT_EQ(calibration.date.size(), std::string("2026-01-01T00:00:00Z").size());
  ASSERT_TRUE(calibration.canary);
  expect_sound(*calibration.canary);
  EXPECT_FALSE(calibration.layers.empty());
}

}  // namespace
}  // namespace parabench::rank
