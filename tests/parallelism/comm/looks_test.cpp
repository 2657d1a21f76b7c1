#include "parallelism/comm/looks.h"

#include <gtest/gtest.h>

namespace parabench::comm {
namespace {

TEST(PauseAfter, IsAShareOfTheWaitWithinBounds) {
  EXPECT_DOUBLE_EQ(pause_after(16e-3, 10e-3), 1e-3);
  EXPECT_DOUBLE_EQ(pause_after(0, 10e-3), 20e-6) << "else it would be a busy wait";
  EXPECT_DOUBLE_EQ(pause_after(60, 10e-3), 10e-3);
}

}  // namespace
}  // namespace parabench::comm
