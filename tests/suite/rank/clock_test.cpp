#include "suite/rank/clock.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "parallelism/comm/threads/world.h"

namespace parabench::rank {
namespace {

double host_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TEST(ClockOffset, BringsEveryRanksClockToRankZeros) {
  const std::array<double, 3> ahead = {100, -5, 3000};
  std::array<double, 3> offsets{};
  comm::run_thread_ranks(3, [&](comm::Communicator& comm) {
    const int rank = comm.rank().value;
    offsets[rank] = estimated_offset_s(comm, [&] { return host_seconds() + ahead[rank]; });
  });
  // Half of the shortest of many round trips between threads is far below this, even on a busy machine.
  for (int rank = 0; rank < 3; ++rank) EXPECT_NEAR(ahead[rank] + offsets[rank], ahead[0], 5e-3) << rank;
}

TEST(ClockOffset, IsExactlyZeroOnOneHost) {
  comm::run_thread_ranks(2, [](comm::Communicator& comm) { EXPECT_EQ(clock_offset_s(comm), 0); });
}

}  // namespace
}  // namespace parabench::rank
