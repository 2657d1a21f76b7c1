#include "parallelism/comm/bus_bandwidth.h"

#include <gtest/gtest.h>

namespace parabench::comm {
namespace {

TEST(BusBandwidth, FollowsTheFactorsOfNcclTests) {
  // 80 bytes in 2 s over 4 ranks: 40 bytes/s times the factor.
  EXPECT_DOUBLE_EQ(bus_bandwidth(BusOperation::all_reduce, 80, 4, 2), 60);
  EXPECT_DOUBLE_EQ(bus_bandwidth(BusOperation::reduce_scatter, 80, 4, 2), 30);
  EXPECT_DOUBLE_EQ(bus_bandwidth(BusOperation::all_gather, 80, 4, 2), 30);
  EXPECT_DOUBLE_EQ(bus_bandwidth(BusOperation::broadcast, 80, 4, 2), 40);
  EXPECT_DOUBLE_EQ(bus_bandwidth(BusOperation::send_recv, 80, 4, 2), 40);
}

TEST(BusBandwidth, IsZeroWhereNothingCrossesALink) {
  EXPECT_EQ(bus_bandwidth(BusOperation::all_reduce, 80, 1, 2), 0);
  EXPECT_EQ(bus_bandwidth(BusOperation::all_gather, 80, 1, 2), 0);
}

}  // namespace
}  // namespace parabench::comm
