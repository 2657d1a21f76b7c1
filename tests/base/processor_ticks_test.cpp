#include "base/processor_ticks.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace parabench {
namespace {

std::optional<ProcessorTicks> ticks(const std::string& text) {
  std::istringstream stat(text);
  return processor_ticks(stat);
}

TEST(ProcessorTicks, StolenIsTheEighthOfTheFirstLinesNumbersAndGuestsCountOnce) {
  const auto found = ticks("cpu  100 20 30 400 5 6 7 32 50 8\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stolen, 32);
  EXPECT_EQ(found->all, 600);
}

TEST(ProcessorTicks, OfAnotherFileThereAreNone) {
  EXPECT_FALSE(ticks(""));
  EXPECT_FALSE(ticks("cpu 1 2 3\n")) << "a kernel that knows no steal";
  EXPECT_FALSE(ticks("cpu0 1 2 3 4 5 6 7 8\n"));
  EXPECT_FALSE(ticks("cpu one 2 3 4 5 6 7 8\n"));
}

TEST(ProcessorTicks, ThisHostHasSome) {
  const auto here = processor_ticks();
  ASSERT_TRUE(here);
  EXPECT_GT(here->all, 0);
}

TEST(ProcessorTicks, StolenTimeIsAShareOfAllTime) {
  const ProcessorTicks before{.all = 1000, .stolen = 10}, after{.all = 2000, .stolen = 60};
  EXPECT_EQ(stolen_share(before, after), 0.05);
  EXPECT_EQ(stolen_share(before, ProcessorTicks{.all = 2000, .stolen = 0}), 0) << "a counter that went back";
  EXPECT_FALSE(stolen_share(before, before)) << "no time has passed";
  EXPECT_FALSE(stolen_share(std::nullopt, after));
}

}  // namespace
}  // namespace parabench
