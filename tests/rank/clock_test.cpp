#include "suite/rank/clock.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "parallelism/comm/threads/world.h"

namespace parabench {
namespace {

TEST(ClockOffset, OfRanksThatShareAClockIsEstimatedNearZero) {
  std::array<double, 3> offsets{};
  run_thread_ranks(3, [&](Communicator& comm) { offsets[comm.rank().value] = clock_offset_s(comm, true); });
  EXPECT_EQ(offsets[0], 0);
  EXPECT_NE(offsets[1], 0) << "it was estimated";
  // Half of the shortest of many round trips between threads, even on a busy machine.
  EXPECT_LT(std::abs(offsets[1]), 5e-3);
  EXPECT_LT(std::abs(offsets[2]), 5e-3);
}

TEST(ClockOffset, OnOneHostIsNotEstimatedAtAll) {
  run_thread_ranks(2, [](Communicator& comm) { EXPECT_EQ(clock_offset_s(comm), 0); });
}

}  // namespace
}  // namespace parabench
