#include "base/automatic_reduce.h"

#include <gtest/gtest.h>

namespace parabench {
namespace {

TEST(AutomaticReduce, HalvesAndDoublesAmongAPowerOfTwoAndElseGoesAroundTheRing) {
  for (int members = 2; members <= 64; ++members) {
    const bool power = members == 2 || members == 4 || members == 8 || members == 16 || members == 32 || members == 64;
    for (const bool whole : {true, false})
      EXPECT_EQ(automatic_reduce(members, whole, std::int64_t{1} << 40),
                power ? ReduceKind::halving_doubling : ReduceKind::ring)
          << members;
  }
}

TEST(AutomaticReduce, SparesRoundsOfASmallBufferWhileTheyAreWorthMoreThanItsBytes) {
  // Of six members 10 rounds around the ring and 6 by halving and doubling, of a half 5 and 4.
  EXPECT_EQ(automatic_reduce(6, true, 4 * 32768), ReduceKind::halving_doubling);
  EXPECT_EQ(automatic_reduce(6, true, 4 * 32768 + 1), ReduceKind::ring);
  EXPECT_EQ(automatic_reduce(6, false, 32768), ReduceKind::halving_doubling);
  EXPECT_EQ(automatic_reduce(6, false, 32769), ReduceKind::ring);
  // Of three members as many of each.
  EXPECT_EQ(automatic_reduce(3, true, 1), ReduceKind::ring);
}

}  // namespace
}  // namespace parabench
