// Of which sizes messages are timed.
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

/// Where the largest message of a plan has so many bytes.
std::vector<std::int64_t> timed_sizes(std::int64_t largest) {
  std::vector<std::int64_t> sizes;
  static exec::MemoryAccount accounts[2];
  comm::run_thread_ranks(2, [&](comm::Communicator& comm) {
    const auto device = exec::cpu_device(accounts[comm.rank().value]);
    const Repeats once{.rounds = 1, .warmup = 0};
    const analytic::MessagePair pair{Rank(0), Rank(1), /*between_hosts=*/false};
    const analytic::Curve curve = point_to_point_curve(comm, *device, pair, largest, {once, once});
    if (comm.rank() != Rank(0)) return;
    for (const analytic::CurvePoint& point : curve) sizes.push_back(point.bytes);
  });
  return sizes;
}

TEST(PointToPointCurve, HasEachSizeOnceAndNoMessageOfNothing) {
  EXPECT_THAT(timed_sizes(10'000), ElementsAre(1024, 8192, 9984));
  EXPECT_THAT(timed_sizes(8192 + 5), ElementsAre(1024, 8192));
  EXPECT_THAT(timed_sizes(24), ElementsAre(64));
  EXPECT_THAT(timed_sizes(0), ElementsAre(64));
}

}  // namespace
}  // namespace parabench::rank
