#include "results/difference.h"

#include <gtest/gtest.h>

#include "tests/results/samples.h"

namespace parabench::results {
namespace {

Record measured(const std::vector<double>& launches) {
  Record record = ok_record("resnet18/cifar10-synthetic/gpipe/np:2/batch:32", 100);
  record.measured->step_time_s.samples.clear();
  for (const double seconds : launches) record.measured->step_time_s.samples.push_back({seconds, seconds, seconds});
  summarise(record.measured->step_time_s);
  return record;
}

TEST(Difference, CountsAsATieWithinTheLargerNoise) {
  EXPECT_TRUE(difference(1.02, 1, 0.01, 0.03).is_tie());
  EXPECT_TRUE(difference(1, 1.02, 0.03, std::nullopt).is_tie());
  EXPECT_FALSE(difference(1.05, 1, 0.01, 0.03).is_tie());
  EXPECT_FALSE(difference(1.001, 1, std::nullopt, std::nullopt).is_tie());
  EXPECT_DOUBLE_EQ(difference(1.25, 1, {}, {}).relative, 0.25);
}

// The machine doubles its times from round to round; the one is always 2 % slower, give or take.
TEST(Difference, OfLaunchesByTurnsIsFreeOfWhatBothDrift) {
  const Difference found = difference_by_turns(measured({1.02, 2.042, 4.078}), measured({1, 2, 4}));
  EXPECT_NEAR(found.relative, 0.02, 1e-12);
  EXPECT_LT(found.noise, 0.002);
  EXPECT_FALSE(found.is_tie());
  EXPECT_TRUE(difference_by_turns(measured({1.02, 1.9, 4.1}), measured({1, 2, 4})).is_tie());
}

TEST(Difference, OfOtherNumbersOfLaunchesTakesMediansAndFloors) {
  Record one = measured({1.1}), other = measured({1, 1, 1});
  one.error.emplace().noise_floor = NoiseFloor{0.2, false};
  other.error.reset();
  const Difference found = difference_by_turns(one, other);
  EXPECT_NEAR(found.relative, 0.1, 1e-12);
  EXPECT_DOUBLE_EQ(found.noise, 0.2);
}

}  // namespace
}  // namespace parabench::results
