#include "results/report/pareto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace parabench::results {
namespace {

using testing::ElementsAre;

TEST(ParetoFront, HoldsWhatNoOtherPointBeats) {
  const std::vector<Cost> points = {{1, 9}, {2, 5}, {2, 6}, {3, 5}, {4, 1}, {9, 9}};
  EXPECT_THAT(pareto_front(points), ElementsAre(true, true, false, false, true, false));
}

TEST(ParetoFront, HoldsEqualPointsTogether) {
  const std::vector<Cost> points = {{1, 2}, {1, 2}, {2, 2}, {1, 3}};
  EXPECT_THAT(pareto_front(points), ElementsAre(true, true, false, false));
}

TEST(ParetoFront, LeavesOutWhatIsNotKnown) {
  const std::vector<Cost> points = {{0, 1}, {1, 0}, {std::numeric_limits<double>::quiet_NaN(), 1}, {5, 5}};
  EXPECT_THAT(pareto_front(points), ElementsAre(false, false, false, true));
  EXPECT_TRUE(pareto_front({}).empty());
}

TEST(ParetoFront, AgreesWithItsDefinition) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<Cost> points(random() % 12);
    for (Cost& point : points) point = {static_cast<double>(random() % 5), static_cast<double>(random() % 5)};
    const std::vector<bool> front = pareto_front(points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Cost& p = points[i];
      bool expected = p.time > 0 && p.memory > 0;
      for (const Cost& q : points) {
        const bool known = q.time > 0 && q.memory > 0;
        if (known && q.time <= p.time && q.memory <= p.memory && (q.time < p.time || q.memory < p.memory))
          expected = false;
      }
      EXPECT_EQ(front[i], expected);
    }
  }
}

}  // namespace
}  // namespace parabench::results
