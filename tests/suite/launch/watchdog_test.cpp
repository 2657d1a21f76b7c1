#include "suite/launch/watchdog.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "suite/launch/launch.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class WatchdogTest : public testing::Test {
 protected:
  /// Both ranks beat, rank 1 with these moves; `waits`: both wait for each other.
  void beat(std::uint64_t number, std::uint64_t moves, bool waits, const std::string& operation = "step 3 1RECV_F2") {
    for (int rank : {0, 1})
      protocol::write_beat(scratch_.path(), {number, hosts_[rank], 1 + rank, {{Rank(rank), moves, waits, operation}}});
  }
  std::string look(double seconds) {
    return watchdog_.look(getpid(), Watchdog::Clock::time_point(std::chrono::duration_cast<Watchdog::Clock::duration>(
                                        std::chrono::duration<double>(1000 + seconds))));
  }

  std::string hosts_[2] = {"far", "far"};
  ScratchFolder scratch_;
  Watchdog watchdog_{{scratch_.path(), scratch_.path().string(), "here", 2, 1.0}};
};

TEST_F(WatchdogTest, ARankThatHasNotYetGivenASignIsNoTrouble) {
  EXPECT_EQ(look(0), "");
  EXPECT_EQ(look(1000), "");
}

TEST_F(WatchdogTest, SilenceIsNoticedAfterTenSeconds) {
  beat(1, 5, false);
  EXPECT_EQ(look(0), "");
  EXPECT_EQ(look(9), "");
  EXPECT_THAT(look(11), AllOf(HasSubstr("rank 0 on far"), HasSubstr("no sign of life for 11")));
}

TEST_F(WatchdogTest, SignsOfLifeKeepALaunchAlive) {
  for (int i = 0; i < 30; ++i) {
    beat(i, i, true);
    EXPECT_EQ(look(2 * i), "");
  }
}

TEST_F(WatchdogTest, RanksThatAllWaitWithoutAMoveAreStuck) {
  std::string trouble;
  int seconds = 0;
  for (; trouble.empty() && seconds < 60; ++seconds) {
    beat(seconds, 7, true);
    trouble = look(seconds);
  }
  EXPECT_EQ(seconds - 1, 14);  // ten, and three operations of a second
  EXPECT_THAT(trouble, AllOf(HasSubstr("every rank waited"), HasSubstr("rank 1 before step 3 1RECV_F2")));
}

TEST_F(WatchdogTest, OfRanksThatAreStuckOnSeveralHostsThoseAreNamed) {
  hosts_[1] = "farther";
  std::string trouble;
  for (int seconds = 0; trouble.empty() && seconds < 60; ++seconds) {
    beat(seconds, 7, true);
    trouble = look(seconds);
  }
  EXPECT_THAT(trouble, AllOf(HasSubstr("network between their hosts"), HasSubstr("rank 0 on far before"),
                             HasSubstr("rank 1 on farther before")));
}

TEST_F(WatchdogTest, ARankThatComputesMayTakeItsTime) {
  for (int seconds = 0; seconds < 100; ++seconds) {
    beat(seconds, 7, false);
    EXPECT_EQ(look(seconds), "");
  }
}

TEST_F(WatchdogTest, OutsideAPlanRanksAreNotJudged) {
  for (int seconds = 0; seconds < 100; ++seconds) {
    beat(seconds, 7, true, "");
    EXPECT_EQ(look(seconds), "");
  }
}

TEST_F(WatchdogTest, TheLastOperationsAreThoseOfTheBeats) {
  beat(1, 5, true);
  std::ofstream(scratch_.path() / "beat-9.json") << "{ half";
  const std::vector<results::LastOperation> expected = {{Rank(0), "far", "step 3 1RECV_F2"},
                                                        {Rank(1), "far", "step 3 1RECV_F2"}};
  EXPECT_EQ(last_operations(scratch_.path()), expected);
}

}  // namespace
}  // namespace parabench::suite
