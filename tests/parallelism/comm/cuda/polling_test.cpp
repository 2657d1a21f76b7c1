#include "parallelism/comm/cuda/polling.h"

#include <gtest/gtest.h>

namespace parabench::comm {
namespace {

TEST(GpuPolling, LooksOftenOnlyWhereSomebodyWaits) {
  GpuPolling polling;
  EXPECT_EQ(polling.pause_s(0.1, true), 0.1);
  polling.count_in_flight(1);
  EXPECT_EQ(polling.pause_s(0.1, false), 2e-3);
  EXPECT_EQ(polling.pause_s(1e-4, false), 1e-4);
  EXPECT_LE(polling.pause_s(0.1, true), 10e-3);
  polling.count_awaited(1);
  EXPECT_LE(polling.pause_s(0.1, false), 50e-6);
  polling.count_awaited(-1);
  polling.count_in_flight(-1);
  EXPECT_EQ(polling.pause_s(0.1, true), 0.1);
}

}  // namespace
}  // namespace parabench::comm
