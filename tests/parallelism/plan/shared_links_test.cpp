#include "parallelism/plan/shared_links.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::map<int, double> ends(SharedLinks& links) {
  std::map<int, double> result;
  std::vector<int> over;
  while (!links.empty()) {
    over.clear();
    const double now = links.finish(over);
    for (const int number : over) result[number] = now;
  }
  return result;
}

TEST(SharedLinks, AMessageHasOneWayOutAndOneWayInAndACollectiveBothOfEveryMember) {
  const Plan pipe = gpipe_of(3, 4, 8);
  const Op send = send_forward(SegmentId(0), MicroBatchId(0), StepId(0), Rank(1));
  const std::vector<int> ports = ports_of(pipe, Rank(0), send);
  EXPECT_EQ(ports.size(), 2u);
  EXPECT_EQ(ports_of(pipe, Rank(1), receive_of(send, Rank(0), {})), ports) << "both ends say the same";
  EXPECT_THAT(ports_of(pipe, Rank(0), forward(SegmentId(0), MicroBatchId(0), StepId(0), VersionId(0))), IsEmpty());
  const Plan data = test_plan(case_of("data-parallel", 3, 6), 4);
  const Op sum = all_reduce(SegmentId(0), 4, StepId(0), GroupId(0));
  EXPECT_THAT(ports_of(data, Rank(0), sum), UnorderedElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(SharedLinks, AloneATransferTakesItsLatencyAndItsSeconds) {
  SharedLinks links;
  links.start(7, {{0, 3}, 0.1, 0.3}, 1.7);
  EXPECT_EQ(ends(links), (std::map<int, double>{{7, 1.7 + 0.1 + 0.3}}));
  EXPECT_EQ(links.next(), SharedLinks::never);
}

TEST(SharedLinks, TwoInOneDirectionTakeTheTimeOfBothAndInOppositeOnesOfOne) {
  SharedLinks links;
  links.start(0, {{0, 3}, 0, 4}, 0);
  links.start(1, {{0, 5}, 0, 4}, 0);
  EXPECT_EQ(ends(links), (std::map<int, double>{{0, 8.}, {1, 8.}}));
  links.start(0, {{0, 3}, 0, 4}, 10);
  links.start(1, {{2, 1}, 0, 4}, 10);
  EXPECT_EQ(ends(links), (std::map<int, double>{{0, 14.}, {1, 14.}}));
}

TEST(SharedLinks, WhoComesLaterHalvesTheRateUntilTheFirstIsOver) {
  SharedLinks links;
  links.start(0, {{0}, 0, 4}, 0);
  links.start(1, {{0}, 1, 4}, 1);  // passes from 2 on
  EXPECT_EQ(ends(links), (std::map<int, double>{{0, 6.}, {1, 8.}}));
}

TEST(SharedLinks, TheFullestPortCountsAndNobodyGetsWhatIsLeft) {
  SharedLinks links;
  for (int i = 0; i < 3; ++i) links.start(i, {{2 * i, 7}, 0, 1}, 0);  // three to one
  links.start(3, {{0, 9}, 0, 1}, 0);                                  // shares the way out of the first of them
  EXPECT_EQ(ends(links), (std::map<int, double>{{0, 3.}, {1, 3.}, {2, 3.}, {3, 2.}}));
}

TEST(SharedLinks, WithoutBytesOnlyLatencyPasses) {
  SharedLinks links;
  links.start(0, {{0}, 2, 0}, 0);
  links.start(1, {{0}, 0, 4}, 0);
  EXPECT_EQ(ends(links), (std::map<int, double>{{0, 2.}, {1, 4.}}));
}

TEST(SharedLinks, OneThatIsHeardOfLateHasPassedSinceItBegan) {
  SharedLinks links;
  std::vector<int> over;
  links.start(0, {{0}, 0, 3}, 0);
  while (over.empty()) links.finish(over);
  links.start(1, {{0}, 0, 2}, 2.5);  // before the latest instant, 3
  EXPECT_EQ(ends(links), (std::map<int, double>{{1, 4.5}}));
}

// Whatever comes when: no port moves more than its rate, and nothing is faster than alone.
TEST(SharedLinks, NoPortIsFasterThanItsRate) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    SharedLinks links;
    std::map<int, std::pair<Transfer, double>> all;
    std::map<int, double> ended;
    std::vector<int> over;
    double now = 0;
    for (int number = 0; number < 20; ++number) {
      now += static_cast<double>(random() % 4) / 2;
      while (links.next() <= now) {
        over.clear();
        const double instant = links.finish(over);
        for (const int done : over) ended[done] = instant;
      }
      const int from = 2 * static_cast<int>(random() % 4), to = 2 * static_cast<int>(random() % 4) + 1;
      const Transfer transfer{{from, to}, static_cast<double>(random() % 3) / 4, static_cast<double>(random() % 8)};
      all[number] = {transfer, now};
      links.start(number, transfer, now);
    }
    ended.merge(ends(links));
    ASSERT_EQ(ended.size(), all.size());
    for (int port = 0; port < 8; ++port) {
      double first = SharedLinks::never, last = 0, seconds = 0;
      for (const auto& [number, begun] : all) {
        const auto& [transfer, ready] = begun;
        EXPECT_GE(ended[number], (ready + transfer.latency_s + transfer.seconds) * (1 - 1e-12));
        if (std::ranges::find(transfer.ports, port) == transfer.ports.end()) continue;
        first = std::min(first, ready), last = std::max(last, ended[number]), seconds += transfer.seconds;
      }
      if (last > 0) {
        EXPECT_GE(last - first, seconds * (1 - 1e-12));
      }
    }
  }
}

}  // namespace
}  // namespace parabench::plan
