#include "base/exchange.h"

#include <gtest/gtest.h>

namespace parabench {
namespace {

TEST(BusBandwidth, FollowsTheFactorsOfNcclTests) {
  // 80 bytes in 2 s over 4 ranks: 40 bytes/s times the factor.
  EXPECT_DOUBLE_EQ(bus_bandwidth(ExchangeKind::all_reduce, 80, 4, 2), 60);
  EXPECT_DOUBLE_EQ(bus_bandwidth(ExchangeKind::reduce_scatter, 80, 4, 2), 30);
  EXPECT_DOUBLE_EQ(bus_bandwidth(ExchangeKind::all_gather, 80, 4, 2), 30);
  EXPECT_DOUBLE_EQ(bus_bandwidth(ExchangeKind::broadcast, 80, 4, 2), 40);
  EXPECT_DOUBLE_EQ(bus_bandwidth(ExchangeKind::send_receive, 80, 4, 2), 40);
  EXPECT_DOUBLE_EQ(bus_bandwidth(ExchangeKind::ping_pong, 80, 4, 2), 40);
}

TEST(BusBandwidth, IsZeroWhereNothingCrossesALink) {
  EXPECT_EQ(bus_bandwidth(ExchangeKind::all_reduce, 80, 1, 2), 0);
  EXPECT_EQ(bus_bandwidth(ExchangeKind::all_gather, 80, 1, 2), 0);
}

TEST(ExchangeId, NamesWhatDiffersFromTheUsual) {
  const ExchangeSetting ring{.np = 4, .reduce = ReduceKind::ring};
  EXPECT_EQ(exchange_id(ring, {ExchangeKind::all_reduce, 1 << 20, 4}),
            "communicate/all-reduce/ring/np:4/bytes:1048576");
  const ExchangeSetting other{
      .np = 4, .reduce = ReduceKind::automatic, .precision = Precision::fp64, .comm = CommKind::threads};
  EXPECT_EQ(exchange_id(other, {ExchangeKind::all_gather, 64, 2}),
            "communicate/all-gather/auto/np:4/bytes:64/group:2/precision:fp64/comm:threads");
}

TEST(ExchangeId, OfAMessageNamesNoAlgorithm) {
  EXPECT_EQ(exchange_id({}, {ExchangeKind::ping_pong, 4096, 2}), "communicate/ping-pong/np:2/bytes:4096");
}

}  // namespace
}  // namespace parabench
