// What is timed of messages.
#include "suite/rank/transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"

namespace parabench::rank {
namespace {

using testing::ElementsAre;

TEST(PointToPointCurve, HasEachSizeThatIsAskedFor) {
  std::vector<std::int64_t> timed;
  static exec::MemoryAccount accounts[2];
  comm::run_thread_ranks(2, [&](comm::Communicator& comm) {
    const auto device = exec::cpu_device(accounts[comm.rank().value]);
    const Repeats once{.rounds = 1, .warmup = 0};
    const analytic::MessagePair pair{Rank(0), Rank(1), /*between_hosts=*/false};
    const analytic::Curve curve = point_to_point_curve(comm, *device, pair, {64, 1000, 8192}, {once, once});
    if (comm.rank() != Rank(0)) return;
    for (const analytic::CurvePoint& point : curve) {
      timed.push_back(point.bytes);
      EXPECT_GT(point.seconds, 0) << point.bytes;
      EXPECT_GT(point.loaded_s, 0) << point.bytes;
    }
  });
  EXPECT_THAT(timed, ElementsAre(64, 1000, 8192));
}

}  // namespace
}  // namespace parabench::rank
