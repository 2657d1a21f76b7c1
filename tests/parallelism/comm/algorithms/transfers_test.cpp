// Every algorithm, carried out with names in place of numbers by 1 to 17 members.
#include "parallelism/comm/algorithms/transfers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "parallelism/comm/algorithms/hierarchical.h"
#include "tests/parallelism/comm/conformance_data.h"

namespace parabench::comm {
namespace {

constexpr CollectiveKind kinds[] = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                    CollectiveKind::all_gather};

/// A sum of contributions: of each member how many times it is in it, three bits for each.
using Contributions = std::uint64_t;
Contributions of_member(int position) { return Contributions{1} << (3 * position); }

/// Hosts on which members lie: one, two (blocks, the second with more; alternating), one each, four of growing size.
std::vector<std::vector<int>> layouts(int members) {
  std::vector<std::vector<int>> all(5);
  for (int i = 0; i < members; ++i) {
    all[0].push_back(0);
    all[1].push_back(i < members / 3 ? 0 : 1);
    all[2].push_back(i % 2);
    all[3].push_back(i);
    all[4].push_back(i < 1 ? 0 : i < 3 ? 1 : i < 6 ? 2 : 3);
  }
  return all;
}

struct Setting {
  Algorithm algorithm;
  CollectiveKind kind;
  Shares shares;
  std::vector<int> hosts;

  int members() const { return static_cast<int>(hosts.size()); }
  std::vector<Transfers> transfers() const {
    std::vector<Transfers> all;
    for (int i = 0; i < members(); ++i) all.push_back(transfers_of(algorithm, kind, shares, hosts, i));
    return all;
  }
  std::string text() const {
    return fmt::format("{} {} in shares of {} on hosts {}", name(algorithm), name(kind), share_sizes(shares.ends()),
                       fmt::join(hosts, " "));
  }
};

/// Bytes of a buffer, many enough that all members get some.
constexpr std::int64_t bytes = 64 * 40 + 12;

template <class Check>
void for_every_setting(Check check) {
  for (int members = 1; members <= 17; ++members) {
    for (const Algorithm algorithm : all_algorithms) {
      for (const CollectiveKind kind : kinds) {
        for (const Shares& shares : divisions(bytes / 4, members, 4)) {
          for (const std::vector<int>& hosts : layouts(members)) {
            const Setting setting{algorithm, kind, shares, hosts};
            SCOPED_TRACE(setting.text());
            check(setting);
            if (testing::Test::HasFailure()) return;
            if (algorithm != Algorithm::hierarchical) break;
          }
          if (kind == CollectiveKind::all_reduce) break;
        }
      }
    }
  }
}

/// By member, its buffer in elements of 4 bytes, at the start and, after execute(), at the end.
using Buffers = std::vector<std::vector<Contributions>>;

Buffers initial(const Setting& setting) {
  Buffers buffers(setting.members());
  for (int i = 0; i < setting.members(); ++i) {
    buffers[i].assign(bytes / 4, setting.kind == CollectiveKind::all_gather ? 0 : of_member(i));
    if (setting.kind != CollectiveKind::all_gather) continue;
    const Share own = setting.shares.of(i);
    std::fill(buffers[i].begin() + own.begin / 4, buffers[i].begin() + own.end / 4, of_member(i));
  }
  return buffers;
}

/// Round by round; messages of a lane are paired in the order in which both ends list them.
void execute(const std::vector<Transfers>& all, Buffers& buffers) {
  int rounds = 0;
  for (const Transfers& transfers : all)
    if (!transfers.empty()) rounds = std::max(rounds, transfers.back().round + 1);
  for (int round = 0; round < rounds; ++round) {
    struct Message {
      Share part;
      std::vector<Contributions> content;
    };
    std::map<std::tuple<int, int, int>, std::vector<Message>> sent;
    const auto in_round = [&](int member, auto visit) {
      for (const Transfer& transfer : all[member])
        if (transfer.round == round) visit(transfer);
    };
    for (int from = 0; from < std::ssize(all); ++from) {
      in_round(from, [&](const Transfer& transfer) {
        if (transfer.kind != Transfer::Kind::send) return;
        sent[{from, transfer.peer, transfer.lane}].push_back(
            {transfer.part,
             {buffers[from].begin() + transfer.part.begin / 4, buffers[from].begin() + transfer.part.end / 4}});
      });
    }
    for (int to = 0; to < std::ssize(all); ++to) {
      in_round(to, [&](const Transfer& transfer) {
        if (transfer.kind == Transfer::Kind::send) return;
        std::vector<Message>& messages = sent[{transfer.peer, to, transfer.lane}];
        ASSERT_FALSE(messages.empty()) << "member " << to << " waits for " << transfer.peer << " in round " << round;
        ASSERT_EQ(messages.front().part, transfer.part);
        for (std::int64_t i = 0; i < std::ssize(messages.front().content); ++i) {
          Contributions& own = buffers[to][transfer.part.begin / 4 + i];
          own = messages.front().content[i] + (transfer.kind == Transfer::Kind::add ? own : 0);
        }
        messages.erase(messages.begin());
      });
    }
    for (const auto& [lane, messages] : sent) ASSERT_TRUE(messages.empty()) << "nobody received from " << get<0>(lane);
  }
}

TEST(Transfers, LeaveEveryContributionExactlyOnceWhereItBelongs) {
  for_every_setting([](const Setting& setting) {
    Buffers buffers = initial(setting);
    execute(setting.transfers(), buffers);
    Contributions everybody = 0;
    for (int i = 0; i < setting.members(); ++i) everybody += of_member(i);
    for (int i = 0; i < setting.members(); ++i) {
      const auto expect = [&](Share part, Contributions expected) {
        for (std::int64_t k = part.begin / 4; k < part.end / 4; ++k)
          ASSERT_EQ(buffers[i][k], expected) << "element " << k << " of member " << i;
      };
      switch (setting.kind) {
        case CollectiveKind::all_reduce: expect({0, bytes}, everybody); break;
        case CollectiveKind::reduce_scatter: expect(setting.shares.of(i), everybody); break;
        case CollectiveKind::all_gather:
          for (int owner = 0; owner < setting.members(); ++owner) expect(setting.shares.of(owner), of_member(owner));
          break;
        case CollectiveKind::broadcast: FAIL();
      }
    }
  });
}

TEST(Transfers, TakeTheRoundsOfTheFormula) {
  for_every_setting([](const Setting& setting) {
    int rounds = 0;
    for (const Transfers& transfers : setting.transfers())
      if (!transfers.empty()) rounds = std::max(rounds, transfers.back().round + 1);
    const int formula = rounds_of(setting.algorithm, setting.kind, setting.hosts);
    EXPECT_LE(rounds, formula);
    // Where somebody's share is empty, messages are missing.
    const bool even = setting.shares == Shares::even(bytes, setting.members());
    EXPECT_EQ(rounds, even ? formula : rounds);
  });
}

TEST(Transfers, AreInOrderAndNoReceiptTouchesWhatIsSentInItsRound) {
  for_every_setting([](const Setting& setting) {
    for (const Transfers& transfers : setting.transfers()) {
      const auto order = [](const Transfer& transfer) {
        return std::pair(transfer.round, transfer.kind != Transfer::Kind::send);
      };
      EXPECT_TRUE(std::ranges::is_sorted(transfers, {}, order));
      for (const Transfer& send : transfers) {
        EXPECT_GT(send.part.bytes(), 0);
        EXPECT_LT(send.lane, transfer_lanes);
        if (send.kind != Transfer::Kind::send) continue;
        for (const Transfer& receipt : transfers) {
          if (receipt.kind == Transfer::Kind::send || receipt.round != send.round) continue;
          EXPECT_TRUE(receipt.part.end <= send.part.begin || send.part.end <= receipt.part.begin);
        }
      }
    }
  });
}

/// Over all members.
std::int64_t sent_together(const std::vector<Transfers>& all) {
  return std::accumulate(all.begin(), all.end(), std::int64_t{0},
                         [](std::int64_t sum, const Transfers& transfers) { return sum + traffic_of(transfers).sent; });
}

TEST(Transfers, MoveTheBytesOfTheFormulas) {
  for_every_setting([](const Setting& setting) {
    const std::vector<Transfers> all = setting.transfers();
    const std::int64_t p = setting.members();
    std::int64_t received = 0;
    for (const Transfers& transfers : all) received += traffic_of(transfers).received;
    EXPECT_EQ(sent_together(all), received);
    const bool whole = setting.kind == CollectiveKind::all_reduce;
    const std::int64_t least = (whole ? 2 : 1) * (p - 1) * bytes;  // Patarasuk and Yuan 2009
    const std::int64_t two_to_k = std::bit_floor(static_cast<unsigned>(p)), pairs = p - two_to_k;
    std::int64_t expected = least;
    if (setting.algorithm == Algorithm::halving_doubling && pairs > 0) {
      // The actors alone do with the least; of each pair one member hands all over, or gets all back, or its share.
      std::int64_t seconds = 0;
      for (int i = 0; i < pairs; ++i) seconds += setting.shares.of(2 * i + 1).bytes();
      const std::int64_t among_actors = (whole ? 2 : 1) * (two_to_k - 1) * bytes;
      expected = among_actors + (whole ? 2 * pairs * bytes : pairs * bytes + seconds);
    }
    EXPECT_EQ(sent_together(all), expected);
  });
}

TEST(Transfers, OfEveryMemberOfARingAreTheBytesOfTheFormula) {
  for_every_setting([](const Setting& setting) {
    if (setting.algorithm != Algorithm::ring) return;
    const bool whole = setting.kind == CollectiveKind::all_reduce;
    const int p = setting.members();
    const Shares shares = whole ? Shares::even(bytes, p) : setting.shares;
    for (int i = 0; i < p; ++i) {
      const std::int64_t all_but_own = p == 1 ? 0 : bytes - shares.of(i).bytes();
      const std::int64_t all_but_next = p == 1 ? 0 : bytes - shares.of((i + 1) % p).bytes();
      const std::int64_t expected = (setting.kind == CollectiveKind::all_gather ? 0 : all_but_own) +
                                    (setting.kind == CollectiveKind::reduce_scatter ? 0 : all_but_next);
      EXPECT_EQ(traffic_of(setting.transfers()[i]).sent, expected) << "member " << i;
    }
  });
}

TEST(Transfers, OfHierarchiesCrossTheNetworkOfAHostAsOftenAsARingOfTheHostsWould) {
  for_every_setting([](const Setting& setting) {
    if (setting.algorithm != Algorithm::hierarchical) return;
    const std::vector<Transfers> all = setting.transfers();
    std::int64_t crossing = 0;
    for (int i = 0; i < setting.members(); ++i) {
      for (const Transfer& transfer : all[i]) {
        if (transfer.kind == Transfer::Kind::send && setting.hosts[i] != setting.hosts[transfer.peer])
          crossing += transfer.part.bytes();
      }
    }
    const int times = setting.kind == CollectiveKind::all_reduce ? 2 : 1;
    EXPECT_EQ(crossing, times * (count_hosts(setting.hosts).hosts - 1) * bytes);
  });
}

TEST(Transfers, KeepBothDirectionsOfALinkBusyInEveryRoundOfARing) {
  for (int p = 2; p <= 17; ++p) {
    const std::vector<int> hosts(p);
    for (int i = 0; i < p; ++i) {
      const Transfers transfers =
          transfers_of(Algorithm::ring, CollectiveKind::all_reduce, Shares::even(bytes, p), hosts, i);
      std::vector<Traffic> by_round(2 * (p - 1));
      for (const Transfer& transfer : transfers) {
        Traffic& round = by_round[transfer.round];
        (transfer.kind == Transfer::Kind::send ? round.sent : round.received) += transfer.part.bytes();
      }
      for (const Traffic& round : by_round) {
        EXPECT_GT(round.sent, 0);
        EXPECT_LE(std::abs(round.sent - round.received), 64);
      }
    }
  }
}

TEST(Transfers, OfOneMemberAndOfBroadcastsAreNone) {
  for (const Algorithm algorithm : all_algorithms) {
    EXPECT_TRUE(
        transfers_of(algorithm, CollectiveKind::broadcast, Shares::even(bytes, 2), std::vector<int>{0, 1}, 0).empty());
    for (const CollectiveKind kind : kinds) {
      EXPECT_TRUE(transfers_of(algorithm, kind, Shares::even(bytes, 1), std::vector<int>{0}, 0).empty());
      EXPECT_TRUE(transfers_of(algorithm, kind, Shares::even(0, 3), std::vector<int>{0, 0, 1}, 1).empty());
    }
  }
}

}  // namespace
}  // namespace parabench::comm
