// The part of the conformance suite where collectives of several kinds are in flight, or do not fit together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/parallelism/comm/conformance_data.h"
#include "tests/parallelism/comm/conformance_parts.h"

namespace parabench::comm {
namespace {

constexpr std::int64_t n = 30011;

/// One collective in flight; every number in a group has an input of its own.
struct Started {
  CollectiveCall call;
  int number;
};

/// What is expected of a started one, in its own buffer.
void expect_outcome(const Communicator& comm, const Started& started) {
  const CollectiveCall& call = started.call;
  const std::vector<Rank>& members = comm.groups().members(call.group);
  const auto* const data = static_cast<const float*>(call.buffer.data);
  const auto expect = [&](Share bytes, const std::vector<Rank>& summed) {
    for (std::int64_t i = bytes.begin / 4; i < bytes.end / 4; ++i) {
      std::int64_t sum = 0;
      for (const Rank rank : summed) sum += whole_input(rank.value + started.number, i);
      ASSERT_EQ(data[i], static_cast<float>(sum)) << name(call.kind) << " " << started.number << ", element " << i;
    }
  };
  switch (call.kind) {
    case CollectiveKind::all_reduce: return expect({0, call.buffer.bytes}, members);
    case CollectiveKind::broadcast: return expect({0, call.buffer.bytes}, {call.root});
    case CollectiveKind::reduce_scatter:
      return expect(call.shares.of(comm.groups().position(call.group, comm.rank())), members);
    case CollectiveKind::all_gather:
      for (int i = 0; i < call.shares.members(); ++i) expect(call.shares.of(i), {members[i]});
  }
}

/// A sequence for each group, the same on all members; each rank starts the groups in an order of its own and drives
/// all of it in another one.
template <Place place>
void kinds_run_in_the_order_started(Communicator& comm) {
  constexpr CollectiveKind kinds[] = {CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
                                      CollectiveKind::broadcast,      CollectiveKind::all_reduce,
                                      CollectiveKind::all_gather,     CollectiveKind::reduce_scatter};
  const std::vector<CommGroupId> groups = own_groups(comm);
  const std::int64_t in_group = std::ssize(kinds) * n;
  const Elements<float> memory(comm, place, comm.groups().count() * in_group);
  std::vector<Started> all;
  for (const CommGroupId group : groups) {
    const std::vector<Rank>& members = comm.groups().members(group);
    for (int k = 0; k < std::ssize(kinds); ++k) {
      const std::int64_t elements = n - 997 * k;
      const std::vector<Shares> possible = divisions(elements, static_cast<int>(members.size()), 4);
      float* const data = memory.data() + group.value * in_group + k * n;
      all.push_back({{.kind = kinds[k],
                      .buffer = view(data, elements),
                      .group = group,
                      .shares = possible[(group.value + k) % possible.size()],
                      .root = members[k % members.size()]},
                     100 * group.value + 10 * k});
      fill_whole(data, elements, comm.rank().value + all.back().number);
    }
  }
  std::mt19937 random(comm.rank().value);
  std::vector<int> order(groups.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<Work> works;
  for (int k = 0; k < std::ssize(kinds); ++k) {
    for (const int i : order) works.push_back(comm.collective(all[i * std::ssize(kinds) + k].call));
  }
  std::shuffle(works.begin(), works.end(), random);
  comm.wait_all(works);
  for (const Started& started : all) expect_outcome(comm, started);
}

void later_ones_wait_for_earlier_ones_of_any_kind(Communicator& comm) {
  if (comm.size() == 1) return;
  std::vector<float> first(n), second(n);
  fill_whole(first.data(), n, comm.rank().value);
  fill_whole(second.data(), n, comm.rank().value);
  Work early = comm.broadcast(view(first.data(), n), Rank(0));
  Work late = comm.reduce_scatter(view(second.data(), n), Shares::even(n * 4, comm.size()));
  if (comm.capabilities().shared_arenas) {
    for (int look = 0; look < 20; ++look) EXPECT_FALSE(late.queued());
  }
  Work works[] = {std::move(late), std::move(early)};
  comm.wait_all(works);
  expect_whole_sums(first.data(), n, {Rank(0)});
}

void a_scatter_and_a_gather_count_as_an_all_reduce(Communicator& comm) {
  if (!counts_by_formula(comm)) return;
  constexpr std::int64_t largest = 1 << 20;
  // Whether offsets are equal does not matter.
  std::byte* const data = comm.allocate(largest + 64 * comm.size()).data + 64 * comm.rank().value;
  for (const CommGroupId group : own_groups(comm)) {
    const auto p = static_cast<int>(comm.groups().members(group).size());
    for (const std::int64_t bytes : {std::int64_t{4}, std::int64_t{68}, std::int64_t{100012}, largest}) {
      const BufferView buffer{data, bytes, ElementType::f32};
      const auto counted = [&](Work work) {
        comm.wait(std::move(work));
        const Traffic traffic = comm.traffic();
        comm.reset_traffic();
        return traffic;
      };
      comm.reset_traffic();
      const Traffic all = counted(comm.all_reduce(buffer, group));
      const Traffic scatter = counted(comm.reduce_scatter(buffer, Shares::even(bytes, p), group));
      const Traffic gather = counted(comm.all_gather(buffer, Shares::even(bytes, p), group));
      EXPECT_EQ(all, (Traffic{scatter.sent + gather.sent, scatter.received + gather.received}))
          << bytes << " bytes in group " << group.value;
    }
  }
}

/// What each kind counts, of a division that is not even, wherever the buffer lies.
template <Place place>
void traffic_of_shares_follows_the_formulas(Communicator& comm) {
  const Elements<float> memory(comm, place, 300007);
  if (!counts_by_formula(comm)) return;
  const bool shared = comm.capabilities().shared_arenas;
  for (const CommGroupId group : own_groups(comm)) {
    const std::vector<Rank>& members = comm.groups().members(group);
    const std::int64_t p = std::ssize(members);
    for (const std::int64_t elements : {std::int64_t{17}, std::int64_t{300007}}) {
      const std::int64_t bytes = elements * 4, half = (p - 1) * bytes / p, rest = 2 * (p - 1) * bytes / p - half;
      const BufferView buffer = view(memory.data(), elements);
      const Rank root = members.back();
      for (const Shares& shares : divisions(elements, static_cast<int>(p), 4)) {
        const std::int64_t remote = (p - 1) * shares.of(comm.groups().position(group, comm.rank())).bytes();
        comm.reset_traffic();
        comm.wait(comm.reduce_scatter(buffer, shares, group));
        EXPECT_EQ(comm.traffic(), (shared ? Traffic{0, remote} : Traffic{half, half}));
        comm.reset_traffic();
        comm.wait(comm.all_gather(buffer, shares, group));
        EXPECT_EQ(comm.traffic(), (shared ? Traffic{remote, 0} : Traffic{rest, rest}));
      }
      comm.reset_traffic();
      comm.wait(comm.broadcast(buffer, root, group));
      const bool gives = comm.rank() == root;
      EXPECT_EQ(comm.traffic(), (Traffic{gives && !shared && p > 1 ? bytes : 0, gives ? 0 : bytes}));
    }
  }
}

/// `start(differs)` on all ranks, differing on the last; where memory is shared, everybody is told the words.
void expect_mismatch(Communicator& comm, const std::function<Work(bool differs)>& start,
                     const std::vector<std::string>& words) {
  if (comm.size() == 1 || !comm.capabilities().shared_arenas) return;
  try {
    comm.wait(start(comm.rank().value == comm.size() - 1));
    ADD_FAILURE() << "nobody noticed";
  } catch (const std::logic_error& error) {
    for (const std::string& word : words) EXPECT_THAT(error.what(), testing::HasSubstr(word));
    EXPECT_THAT(error.what(), testing::HasSubstr("group 0"));
    EXPECT_THAT(error.what(), testing::HasSubstr("rank " + std::to_string(comm.size() - 1)));
  }
}

void different_kinds_are_named(Communicator& comm) {
  float data[64] = {};
  const Shares shares = Shares::even(256, comm.size());
  expect_mismatch(comm,
                  [&](bool differs) {
                    return differs ? comm.all_gather(view(data, 64), shares)
                                   : comm.reduce_scatter(view(data, 64), shares);
                  },
                  {"all_gather of 256 bytes of f32 in shares of", "reduce_scatter of 256 bytes of f32 in shares of"});
}

void different_shares_are_named(Communicator& comm) {
  float data[64] = {};
  // Both are as many bytes, and so is the share of every rank between the first and the last.
  std::vector<std::int64_t> usual(comm.size()), other(comm.size());
  usual.front() = 96;
  usual.back() = 160;
  other.front() = 100;
  other.back() = 156;
  if (comm.size() == 1) return;
  expect_mismatch(comm, [&](bool differs) { return comm.all_gather(view(data, 64), Shares(differs ? other : usual)); },
                  {"in shares of 96", "in shares of 100", "and 160 bytes", "and 156 bytes"});
}

void different_roots_are_named(Communicator& comm) {
  float data[64] = {};
  expect_mismatch(comm, [&](bool differs) { return comm.broadcast(view(data, 64), Rank(differs ? 1 : 0)); },
                  {"broadcast of 256 bytes of f32 from rank 0", "from rank 1"});
}

template <CollectiveKind kind>
void abort_wakes_who_waits_in(Communicator& comm) {
  if (comm.size() == 1) return;
  const Rank last(comm.size() - 1);
  // MPI cannot take a collective back: it may go on with it in later calls.
  static thread_local std::vector<float> data(n);
  try {
    if (comm.rank() == last) return comm.abort("the dog ate the shares");
    comm.wait(comm.collective(
        {.kind = kind, .buffer = view(data.data(), n), .shares = Shares::even(n * 4, comm.size()), .root = last}));
    ADD_FAILURE() << "nobody failed";
  } catch (const PeerFailure& failure) {
    EXPECT_EQ(failure.rank(), last);
    EXPECT_THAT(failure.what(), testing::HasSubstr("the dog ate the shares"));
  }
}

void impossible_collectives_are_refused(Communicator& comm) {
  double data[8] = {};
  const int p = comm.size();
  const auto refused = [&](const CollectiveCall& call, const std::vector<std::string>& words) {
    try {
      comm.collective(call);
      ADD_FAILURE() << "refused by nobody: " << words.front();
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(std::string(name(call.kind)) + ":"));
      for (const std::string& word : words) EXPECT_THAT(error.what(), testing::HasSubstr(word));
    }
  };
  const auto to_first = [&](int members, std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> bytes(members);
    bytes.front() = first;
    bytes.back() += last;
    return Shares(bytes);
  };
  const BufferView doubles = view(data, 8);
  for (const CollectiveKind kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    const auto call = [&](BufferView buffer, Shares shares, CommGroupId group = world_group) {
      return CollectiveCall{.kind = kind, .buffer = buffer, .group = group, .shares = std::move(shares)};
    };
    refused(call(doubles, to_first(p, 0, 72)), {"72", "64"});
    refused(call(doubles, to_first(p + 1, 0, 64)), {std::to_string(p + 1) + " shares", std::to_string(p) + " members"});
    if (p > 1) refused(call(doubles, to_first(p, 12, 52)), {"share 0 has 12 bytes", "multiple of the 8"});
    refused(call({data, 12, ElementType::f64}, to_first(p, 0, 12)), {"12 bytes"});
    refused(call(doubles, to_first(p, 0, 64), CommGroupId(comm.groups().count())), {"names group"});
  }
  refused({.kind = CollectiveKind::reduce_scatter, .buffer = {data, 64}, .shares = to_first(p, 0, 64)},
          {"64 bytes are not a whole number of f32, f64 or bf16"});
  refused({.kind = CollectiveKind::broadcast, .buffer = doubles, .root = Rank(p)},
          {"rank " + std::to_string(p), "group 0"});
  refused({.kind = CollectiveKind::broadcast, .buffer = {data, 7, ElementType::f32}}, {"7 bytes"});
}

constexpr ConformanceCase cases[] = {
    {"kinds_run_in_the_order_started_in_arenas", kinds_run_in_the_order_started<Place::same_offset>},
    {"kinds_run_in_the_order_started_outside", kinds_run_in_the_order_started<Place::outside>},
    {"later_ones_wait_for_earlier_ones_of_any_kind", later_ones_wait_for_earlier_ones_of_any_kind},
    {"a_scatter_and_a_gather_count_as_an_all_reduce", a_scatter_and_a_gather_count_as_an_all_reduce},
    {"traffic_of_shares_in_arenas", traffic_of_shares_follows_the_formulas<Place::same_offset>},
    {"traffic_of_shares_outside", traffic_of_shares_follows_the_formulas<Place::outside>},
    {"different_kinds_are_named", different_kinds_are_named},
    {"different_shares_are_named", different_shares_are_named},
    {"different_roots_are_named", different_roots_are_named},
    {"abort_wakes_who_waits_in_reduce_scatter", abort_wakes_who_waits_in<CollectiveKind::reduce_scatter>},
    {"abort_wakes_who_waits_in_all_gather", abort_wakes_who_waits_in<CollectiveKind::all_gather>},
    {"abort_wakes_who_waits_in_broadcast", abort_wakes_who_waits_in<CollectiveKind::broadcast>},
    {"impossible_collectives_are_refused", impossible_collectives_are_refused},
};

}  // namespace

std::span<const ConformanceCase> mixed_cases() { return cases; }

}  // namespace parabench::comm
