// Algorithms carried out in pieces, between threads, against the same transfers one after the other.
#include "parallelism/comm/algorithms/message_collective.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "parallelism/comm/threads/world.h"
#include "tests/parallelism/comm/conformance_data.h"

namespace parabench::comm {
namespace {

/// Through the mailboxes of the world, numbered, so that one that is received out of turn is noticed.
class Mailboxes final : public MemberMessages {
 public:
  explicit Mailboxes(Communicator& comm) : comm_(comm) {}

  Work send(int to, int lane, BufferView piece) override {
    return comm_.send(piece, Rank(to), {channel(lane), sent_[{to, lane}]++});
  }
  Work receive(int from, int lane, BufferView piece) override {
    return comm_.recv(piece, Rank(from), {channel(lane), received_[{from, lane}]++});
  }
  void come_again() override { comm_.notify(); }

 private:
  static Channel channel(int lane) { return lane == 0 ? Channel::forward : Channel::backward; }

  Communicator& comm_;
  std::map<std::pair<int, int>, std::uint64_t> sent_, received_;
};

struct Setting {
  Algorithm algorithm;
  CollectiveKind kind;
  Shares shares;
  std::vector<int> hosts;
  Pieces pieces;

  Transfers transfers(int position) const { return transfers_of(algorithm, kind, shares, hosts, position); }
};

constexpr std::int64_t elements = 64 * 33 + 5;

std::vector<float> normal_input(int rank) {
  std::mt19937 random(rank + 1);
  std::normal_distribution<float> normal;
  std::vector<float> data(elements);
  std::ranges::generate(data, [&] { return normal(random); });
  return data;
}

/// By member: what its buffer holds when all transfers have been carried out whole, round by round.
std::vector<std::vector<float>> one_after_the_other(const Setting& setting) {
  const int members = setting.shares.members();
  std::vector<std::vector<float>> buffers;
  std::vector<Transfers> all;
  int rounds = 0;
  for (int i = 0; i < members; ++i) {
    buffers.push_back(normal_input(i));
    all.push_back(setting.transfers(i));
    if (!all.back().empty()) rounds = std::max(rounds, all.back().back().round + 1);
  }
  for (int round = 0; round < rounds; ++round) {
    const std::vector<std::vector<float>> before = buffers;
    for (int to = 0; to < members; ++to) {
      for (const Transfer& transfer : all[to]) {
        if (transfer.round != round || transfer.kind == Transfer::Kind::send) continue;
        for (std::int64_t k = transfer.part.begin / 4; k < transfer.part.end / 4; ++k) {
          const float arrived = before[transfer.peer][k];
          buffers[to][k] = transfer.kind == Transfer::Kind::add ? buffers[to][k] + arrived : arrived;
        }
      }
    }
  }
  return buffers;
}

template <class Check>
void for_every_setting(int members, Check check) {
  std::vector<int> apart(members);
  for (int i = 0; i < members; ++i) apart[i] = i / 2;
  for (const Algorithm algorithm : all_algorithms) {
    for (const CollectiveKind kind :
         {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
      for (const Shares& shares : divisions(elements, members, 4)) {
        for (const Pieces pieces : {Pieces{64, 1}, Pieces{192, 3}, Pieces{}}) {
          check(Setting{algorithm, kind, shares, apart, pieces});
        }
        if (kind == CollectiveKind::all_reduce) break;
      }
    }
  }
}

std::string text_of(const Setting& setting) {
  return fmt::format("{} {} in shares of {}, pieces of {}", name(setting.algorithm), name(setting.kind),
                     share_sizes(setting.shares.ends()), setting.pieces.bytes);
}

/// What the collective promises: the whole, its own share, or all shares.
bool promises_all(const Setting& setting) { return setting.kind != CollectiveKind::reduce_scatter; }

class MessageCollective : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(of, MessageCollective, testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& instance) { return std::to_string(instance.param) + "_members"; });

TEST_P(MessageCollective, GivesTheBitsOfItsTransfersOneAfterTheOther) {
  run_thread_ranks(GetParam(), [](Communicator& comm) {
    const int own = comm.rank().value;
    for_every_setting(comm.size(), [&](const Setting& setting) {
      SCOPED_TRACE(text_of(setting));
      Mailboxes messages(comm);
      MessageQueue queue;
      std::vector<float> data = normal_input(own);
      comm.wait(
          Work(start_transfers(messages, queue, setting.transfers(own), view(data.data(), elements), setting.pieces)));
      const std::vector<std::vector<float>> expected = one_after_the_other(setting);
      const Share part = promises_all(setting) ? Share{0, elements * 4} : setting.shares.of(own);
      ASSERT_EQ(std::memcmp(data.data() + part.begin / 4, expected[own].data() + part.begin / 4, part.bytes()), 0);
      comm.wait(comm.barrier());
    });
  });
}

TEST_P(MessageCollective, SendsTheBytesOfItsTransfers) {
  run_thread_ranks(GetParam(), [](Communicator& comm) {
    for_every_setting(comm.size(), [&](const Setting& setting) {
      Mailboxes messages(comm);
      MessageQueue queue;
      std::vector<float> data(elements);
      comm.reset_traffic();
      const Transfers transfers = setting.transfers(comm.rank().value);
      comm.wait(Work(start_transfers(messages, queue, transfers, view(data.data(), elements), setting.pieces)));
      ASSERT_EQ(comm.traffic(), traffic_of(transfers)) << text_of(setting);
    });
  });
}

TEST_P(MessageCollective, GivesAllMembersOfAnAllReduceTheSameBits) {
  run_thread_ranks(GetParam(), [](Communicator& comm) {
    for_every_setting(comm.size(), [&](const Setting& setting) {
      if (setting.kind != CollectiveKind::all_reduce) return;
      Mailboxes messages(comm);
      MessageQueue queue;
      std::vector<float> data = normal_input(comm.rank().value);
      comm.wait(Work(start_transfers(messages, queue, setting.transfers(comm.rank().value), view(data.data(), elements),
                                     setting.pieces)));
      for (const std::string& other : all_gather(comm, bytes_of(data.data(), elements * 4))) {
        ASSERT_TRUE(other == bytes_of(data.data(), elements * 4)) << text_of(setting);
      }
    });
  });
}

TEST_P(MessageCollective, RunsAfterTheEarlierOnesOfItsQueueInWhateverOrderTheyAreDriven) {
  run_thread_ranks(GetParam(), [](Communicator& comm) {
    constexpr int count = 5;
    Mailboxes messages(comm);
    MessageQueue queue;
    std::vector<std::vector<double>> data(count, std::vector<double>(elements));
    std::vector<Work> works;
    for (int k = 0; k < count; ++k) {
      fill_whole(data[k].data(), elements, comm.rank().value + 10 * k);
      const std::vector<int> hosts(comm.size());
      works.emplace_back(
          start_transfers(messages, queue,
                          transfers_of(all_algorithms[k % std::ssize(all_algorithms)], CollectiveKind::all_reduce,
                                       Shares::even(elements * 8, comm.size()), hosts, comm.rank().value),
                          view(data[k].data(), elements), {.bytes = 1024}));
    }
    std::mt19937 random(comm.rank().value);
    std::shuffle(works.begin(), works.end(), random);
    comm.wait_all(works);
    for (int k = 0; k < count; ++k)
      expect_whole_sums(data[k].data(), elements, comm.groups().members(world_group), 10 * k);
  });
}

}  // namespace
}  // namespace parabench::comm
