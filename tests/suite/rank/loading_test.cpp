#include "suite/rank/loading.h"

#include <gtest/gtest.h>

#include <mutex>

#include "parallelism/comm/threads/world.h"
#include "parallelism/plan/routes.h"
#include "tests/suite/rank/small_launch.h"

namespace parabench::rank {
namespace {

TEST(Loading, IsTimedOnOneRankAndOnAllAtOnce) {
  const Launch launch = small_launch("data-parallel/np:2/batch:4");
  analytic::Calibration calibration;
  std::mutex mutex;
  comm::run_thread_ranks({2, plan::collective_groups(launch.plan).declared}, [&](comm::Communicator& comm) {
    analytic::Calibration own;
    time_loading(launch, comm, 2, own);
    const std::lock_guard lock(mutex);
    if (comm.rank() == Rank(0)) calibration = own;
  });
  const analytic::RatesByBusy& rates = calibration.load_s_per_sample.at(analytic::load_key(launch.plan.spec));
  ASSERT_EQ(rates.size(), 2u);
  EXPECT_GT(rates.at(1), 0);
  EXPECT_GT(rates.at(2), 0);
}

}  // namespace
}  // namespace parabench::rank
