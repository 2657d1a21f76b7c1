#include "base/automatic_reduce.h"

#include <gtest/gtest.h>

namespace parabench {
namespace {

/// Each on a host of its own.
GroupShape apart(int members) { return {.ranks = members, .hosts = members, .most = 1}; }

TEST(AutomaticReduce, HalvesAndDoublesAmongAPowerOfTwoAndElseGoesAroundTheRing) {
  for (int members = 2; members <= 64; ++members) {
    const bool power = members == 2 || members == 4 || members == 8 || members == 16 || members == 32 || members == 64;
    for (const bool whole : {true, false})
      EXPECT_EQ(automatic_reduce(apart(members), whole, std::int64_t{1} << 40),
                power ? ReduceKind::halving_doubling : ReduceKind::ring)
          << members;
  }
}

TEST(AutomaticReduce, SparesRoundsOfASmallBufferWhileTheyAreWorthMoreThanItsBytes) {
  // Of six members 10 rounds around the ring and 6 by halving and doubling, of a half 5 and 4.
  EXPECT_EQ(automatic_reduce(apart(6), true, 4 * 32768), ReduceKind::halving_doubling);
  EXPECT_EQ(automatic_reduce(apart(6), true, 4 * 32768 + 1), ReduceKind::ring);
  EXPECT_EQ(automatic_reduce(apart(6), false, 32768), ReduceKind::halving_doubling);
  EXPECT_EQ(automatic_reduce(apart(6), false, 32769), ReduceKind::ring);
  EXPECT_EQ(halving_doubling_bytes(apart(4), true), 0) << "it is that for all";
  // Of three members as many of each.
  EXPECT_EQ(automatic_reduce(apart(3), true, 1), ReduceKind::ring);
}

TEST(AutomaticReduce, TakesTwoStepsWhereHostsHaveSeveralMembers) {
  constexpr std::int64_t large = std::int64_t{1} << 40;
  EXPECT_EQ(automatic_reduce({.ranks = 8, .hosts = 4, .most = 2}, true, large), ReduceKind::hierarchical);
  EXPECT_EQ(automatic_reduce({.ranks = 3, .hosts = 2, .most = 2}, true, large), ReduceKind::hierarchical);
  EXPECT_EQ(automatic_reduce({.ranks = 8, .hosts = 1, .most = 8}, true, large), ReduceKind::halving_doubling);
  // 2 (1 + 3) rounds in two steps, 6 by halving and doubling.
  EXPECT_EQ(automatic_reduce({.ranks = 8, .hosts = 4, .most = 2}, true, 2 * 32768), ReduceKind::halving_doubling);
  EXPECT_EQ(automatic_reduce({.ranks = 8, .hosts = 4, .most = 2}, true, 2 * 32768 + 1), ReduceKind::hierarchical);
}

}  // namespace
}  // namespace parabench
