#include "parallelism/comm/timed_exchange.h"

#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <mutex>

#include "parallelism/comm/exchange_values.h"
#include "parallelism/comm/forwarding_communicator.h"
#include "parallelism/comm/threads/world.h"

namespace parabench::comm {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr int iterations = 3, warmup = 2;

/// What every rank has timed.
template <class Comm>
std::map<Rank, TimedExchange> timed(const ExchangeSetting& setting, const Exchange& exchange) {
  std::map<Rank, TimedExchange> all;
  std::mutex mutex;
  run_thread_ranks({setting.np, exchange_groups(setting.np, {&exchange, 1})}, [&](Communicator& inner) {
    Comm comm(inner);
    const Arena arena = comm.allocate(exchange_arena_bytes({&exchange, 1}, warmup + iterations));
    CacheSweep sweep;
    TimedExchange own = time_exchange(comm, arena, setting, exchange, warmup, iterations, sweep);
    const std::lock_guard lock(mutex);
    all[comm.rank()] = std::move(own);
  });
  return all;
}

TEST(TimedExchange, BringsEveryValueOfEveryKind) {
  for (const ExchangeKind kind : enum_values<ExchangeKind>) {
    for (const int members : {2, 4}) {
      for (const std::int64_t bytes : {8, 1000, 100'000, 3 << 20}) {
        for (const Precision precision : {Precision::fp32, Precision::fp64}) {
          const auto all = timed<ForwardingCommunicator>({.np = 4, .precision = precision}, {kind, bytes, members});
          ASSERT_EQ(all.size(), 4u);
          for (const auto& [rank, own] : all) {
            EXPECT_EQ(own.wrong, "") << to_text(kind) << " of " << bytes << " among " << members;
            EXPECT_EQ(own.seconds.size(), 3u);
            EXPECT_THAT(own.seconds, Each(testing::Gt(0)));
          }
        }
      }
    }
  }
}

TEST(TimedExchange, AnOddGroupHasAllItsMembersInTheRing) {
  for (const ExchangeKind kind : enum_values<ExchangeKind>) {
    for (const auto& [rank, own] : timed<ForwardingCommunicator>({.np = 3}, {kind, 4000, 3})) EXPECT_EQ(own.wrong, "");
  }
}

/// Leaves the buffer's last element as it is.
class ForgetsTheLast final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

 private:
  std::unique_ptr<WorkState> start_collective(const CollectiveCall& call) override {
    CollectiveCall shorter = call;
    shorter.buffer.bytes -= 4;
    if (call.shares.members() > 0) {
      std::vector<std::int64_t> shares;
      for (int i = 0; i < call.shares.members(); ++i) shares.push_back(call.shares.of(i).bytes());
      shares.back() -= 4;
      shorter.shares = Shares(shares);
    }
    return ForwardingCommunicator::start_collective(shorter);
  }
};

TEST(TimedExchange, OneWrongElementIsToldWithItsPlace) {
  for (const ExchangeKind kind : {ExchangeKind::all_reduce, ExchangeKind::all_gather, ExchangeKind::broadcast}) {
    const auto all = timed<ForgetsTheLast>({.np = 2}, {kind, 4096, 2});
    const TimedExchange& second = all.at(kind == ExchangeKind::all_gather ? Rank(0) : Rank(1));
    EXPECT_THAT(second.wrong, HasSubstr("iteration 0, rank")) << to_text(kind);
    EXPECT_THAT(second.wrong, HasSubstr("element 1023 is ")) << to_text(kind);
  }
  const auto shares = timed<ForgetsTheLast>({.np = 2}, {ExchangeKind::reduce_scatter, 4096, 2});
  EXPECT_EQ(shares.at(Rank(0)).wrong, "");
  EXPECT_THAT(shares.at(Rank(1)).wrong, HasSubstr("element 1023 is "));
}

TEST(ExchangeValues, AreExactWhereTheyAreSummed) {
  const ValuePeriod sums = summed_values(60'000, 3);
  for (const double sum : sums) EXPECT_EQ(static_cast<double>(static_cast<float>(sum)), sum);
}

TEST(ExchangeValues, OfOtherRanksAndIterationsDiffer) {
  EXPECT_NE(own_values(0, 0), own_values(1, 0));
  EXPECT_NE(own_values(0, 0), own_values(0, 1));
  EXPECT_NE(summed_values(2, 0), summed_values(2, 1));
}

TEST(ExchangeValues, APartKnowsItsPlaceInTheWhole) {
  std::vector<float> whole(600), part(100);
  const auto bytes = [](std::vector<float>& values) { return std::as_writable_bytes(std::span(values)); };
  write_values(bytes(whole), Precision::fp32, 0, own_values(1, 2));
  write_values(bytes(part), Precision::fp32, 300, own_values(1, 2));
  EXPECT_EQ(std::memcmp(part.data(), &whole[300], 400), 0);
  EXPECT_EQ(first_wrong_value(bytes(part), Precision::fp32, 300, own_values(1, 2)), "");
  part[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(first_wrong_value(bytes(part), Precision::fp32, 300, own_values(1, 2)), HasSubstr("element 307 is nan"));
}

TEST(ExchangeGroups, HoldConsecutiveRanks) {
  const Exchange exchanges[] = {
      {ExchangeKind::all_reduce, 4, 2}, {ExchangeKind::broadcast, 4, 4}, {ExchangeKind::broadcast, 8, 2}};
  const std::vector<std::vector<Rank>> pairs = {{Rank(0), Rank(1)}, {Rank(2), Rank(3)}};
  EXPECT_EQ(exchange_groups(4, exchanges), pairs);
}

TEST(AlgorithmOf, SaysWhatAutoBecomes) {
  run_thread_ranks({2}, [](Communicator& comm) {
    const int hosts[] = {0, 0};
    const ExchangeSetting setting;
    EXPECT_EQ(algorithm_of(comm, setting, {ExchangeKind::all_reduce, 1024, 2}, hosts), "window");
    EXPECT_EQ(algorithm_of(comm, setting, {ExchangeKind::ping_pong, 1024, 2}, hosts), "shared memory");
  });
}

/// Says that its ranks share nothing.
class Apart final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  Capabilities capabilities() const override { return {}; }
};

TEST(AlgorithmOf, FollowsTheChoiceBetweenHosts) {
  run_thread_ranks({2}, [](Communicator& inner) {
    const Apart comm(inner);
    const int hosts[] = {0, 1};
    const auto of = [&](ReduceKind reduce, ExchangeKind kind) {
      return algorithm_of(comm, {.reduce = reduce}, {kind, 1 << 20, 2}, hosts);
    };
    EXPECT_EQ(of(ReduceKind::automatic, ExchangeKind::all_reduce), "halving-doubling");
    EXPECT_EQ(of(ReduceKind::double_tree, ExchangeKind::all_reduce), "double-tree");
    EXPECT_EQ(of(ReduceKind::double_tree, ExchangeKind::all_gather), "ring");
    EXPECT_EQ(of(ReduceKind::library, ExchangeKind::all_reduce), "library");
    EXPECT_EQ(of(ReduceKind::ring, ExchangeKind::broadcast), "library");
    EXPECT_EQ(of(ReduceKind::ring, ExchangeKind::send_receive), "messages");
  });
}

}  // namespace
}  // namespace parabench::comm
