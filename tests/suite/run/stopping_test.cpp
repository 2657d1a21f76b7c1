#include "suite/run/stopping.h"

#include <gtest/gtest.h>

namespace parabench::suite {
namespace {

using results::StopReason;

results::StepTime launches(int count, double half_width) {
  results::StepTime time;
  time.samples.resize(count, {1.0});
  time.median = 1;
  time.ci95 = {1 - half_width, 1 + half_width};
  return time;
}

TEST(Stopping, WithoutAnIntervalAfterExactlyTheRepetitions) {
  const StoppingRule rule{.repetitions = 3};
  EXPECT_EQ(enough(launches(2, 0), rule), std::nullopt);
  EXPECT_EQ(enough(launches(3, 0.5), rule), StopReason::repetitions);
}

TEST(Stopping, NotBeforeSixLaunchesHoweverNarrowTheInterval) {
  const StoppingRule rule{.repetitions = 1, .interval = 0.02};
  EXPECT_EQ(enough(launches(5, 0), rule), std::nullopt);
  EXPECT_EQ(enough(launches(6, 0.019), rule), StopReason::interval);
  EXPECT_EQ(least_launches(rule), 6);
}

TEST(Stopping, AWideIntervalAsksForMoreUpToTheLimit) {
  const StoppingRule rule{.repetitions = 3, .interval = 0.02, .most = 8};
  EXPECT_EQ(enough(launches(7, 0.03), rule), std::nullopt);
  EXPECT_EQ(enough(launches(8, 0.03), rule), StopReason::limit);
}

TEST(Stopping, ALimitUnderSixLaunchesIsKept) {
  const StoppingRule rule{.repetitions = 1, .interval = 0.02, .most = 2};
  EXPECT_EQ(least_launches(rule), 2);
  EXPECT_EQ(enough(launches(2, 0), rule), StopReason::limit);
}

}  // namespace
}  // namespace parabench::suite
