// The part of the conformance suite that reduces in groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "tests/parallelism/comm/conformance_data.h"
#include "tests/parallelism/comm/conformance_parts.h"

namespace parabench::comm {
namespace {

// In the order of conformance_groups().
constexpr CommGroupId evens{1}, odds{2}, first_two{3}, middle_two{4}, first_three{5}, outer{6}, inner{7},
    outer_again{8};
constexpr CommGroupId all_groups[] = {world_group, evens, odds,  first_two,  middle_two,
                                      first_three, outer, inner, outer_again};

bool belongs(const Communicator& comm, CommGroupId group) { return comm.groups().position(group, comm.rank()) >= 0; }

/// What one rank reduces in one group; no other reduction has the same input.
struct Reduction {
  CommGroupId group;
  int shift;
  float* data;
  std::int64_t elements;
};

void start(Communicator& comm, const Reduction& reduction, std::vector<Work>& works) {
  fill_whole(reduction.data, reduction.elements, comm.rank().value + reduction.shift);
  works.push_back(comm.all_reduce(view(reduction.data, reduction.elements), reduction.group));
}

void expect_sums(const Communicator& comm, const Reduction& reduction) {
  expect_whole_sums(reduction.data, reduction.elements, comm.groups().members(reduction.group), reduction.shift);
}

/// Every group reduces twice; each rank starts and drives the groups in an order of its own.
void reduce_at_once(Communicator& comm, std::span<const CommGroupId> groups, Place place) {
  constexpr std::int64_t most = 300007;  // more than a piece of scratch
  const std::int64_t floats = 2 * std::ssize(groups) * most + comm.size();
  std::vector<float> own(place == Place::outside ? floats : 0);
  float* next = place == Place::outside ? own.data() : reinterpret_cast<float*>(comm.allocate(floats * 4).data);
  if (place == Place::own_offset) next += comm.rank().value;
  std::mt19937 random(comm.rank().value);
  for (const std::int64_t elements : {std::int64_t{1}, std::int64_t{4099}, most}) {
    std::vector<std::vector<Reduction>> by_group;
    float* data = next;
    for (const CommGroupId group : groups) {
      std::vector<Reduction>& two = by_group.emplace_back();
      for (int k = 0; k < 2; ++k, data += most) two.push_back({group, 100 * group.value + 50 * k, data, elements - k});
    }
    std::erase_if(by_group, [&](const auto& two) { return !belongs(comm, two.front().group); });
    std::shuffle(by_group.begin(), by_group.end(), random);
    std::vector<Work> works;
    for (int k = 0; k < 2; ++k) {
      for (const auto& two : by_group) start(comm, two[k], works);
    }
    std::shuffle(works.begin(), works.end(), random);
    comm.wait_all(works);
    for (const auto& two : by_group) {
      for (const Reduction& reduction : two) expect_sums(comm, reduction);
    }
  }
}

template <CommGroupId... groups>
void reduce_in_arenas(Communicator& comm) {
  constexpr CommGroupId list[] = {groups...};
  reduce_at_once(comm, list, Place::same_offset);
}

template <Place place>
void all_reduce_at_once(Communicator& comm) {
  reduce_at_once(comm, all_groups, place);
}

void sums_of_groups_are_bitwise_equal(Communicator& comm) {
  constexpr std::int64_t n = 20011;
  std::mt19937 random(comm.rank().value);
  std::normal_distribution<float> normal;
  std::vector<float> data(n);
  for (const CommGroupId group : all_groups) {
    std::generate(data.begin(), data.end(), [&] { return normal(random); });
    if (belongs(comm, group)) comm.wait(comm.all_reduce(view(data.data(), n), group));
    const std::vector<std::string> results = all_gather(comm, bytes_of(data.data(), n * 4));
    const std::vector<Rank>& members = comm.groups().members(group);
    for (const Rank member : members) EXPECT_TRUE(results[member.value] == results[members.front().value]);
  }
}

void a_group_that_waits_holds_up_no_other(Communicator& comm) {
  if (comm.size() < 3 || comm.rank() > Rank(2)) return;
  constexpr std::int64_t n = 5003;
  const Message go{Channel::control, 7};
  std::vector<float> three(n), two(n);
  char signal = 0;
  if (comm.rank() == Rank(2)) comm.wait(comm.recv({&signal, 1}, Rank(0), go));
  std::vector<Work> late;
  const Reduction in_three{first_three, 0, three.data(), n};
  start(comm, in_three, late);
  if (comm.rank() != Rank(2)) {
    std::vector<Work> early;
    const Reduction in_two{first_two, 0, two.data(), n};
    start(comm, in_two, early);
    comm.wait_all(early);
    expect_sums(comm, in_two);
  }
  if (comm.rank() == Rank(0)) comm.wait(comm.send({&signal, 1}, Rank(2), go));
  comm.wait_all(late);
  expect_sums(comm, in_three);
}

void groups_run_beside_the_world_and_messages(Communicator& comm) {
  if (comm.size() == 1) return;
  constexpr std::int64_t n = 100003;
  float* const arena = reinterpret_cast<float*>(comm.allocate(std::ssize(all_groups) * n * 4).data);
  const Rank next = neighbour(comm, 1), previous = neighbour(comm, -1);
  std::vector<float> sent(n), received(n), expected(n);
  fill_whole(sent.data(), n, 40 + comm.rank().value);
  fill_whole(expected.data(), n, 40 + previous.value);
  std::vector<Reduction> reductions;
  std::vector<Work> works;
  works.push_back(comm.recv(view(received.data(), n), previous, {Channel::forward, 3}));
  for (const CommGroupId group : all_groups) {
    if (belongs(comm, group))
      start(comm, reductions.emplace_back(group, 100 * group.value, arena + group.value * n, n), works);
    if (group == middle_two) works.push_back(comm.barrier());
  }
  works.push_back(comm.send(view(sent.data(), n), next, {Channel::forward, 3}));
  comm.wait_all(works);
  for (const Reduction& reduction : reductions) expect_sums(comm, reduction);
  EXPECT_TRUE(received == expected);
}

void traffic_of_groups_follows_the_formulas(Communicator& comm) {
  if (!counts_by_formula(comm)) return;
  // Whether offsets are equal does not matter: all of it is reduced in place, in one piece.
  constexpr std::int64_t most = 3 << 20;
  std::byte* const data = comm.allocate(most + 64 * comm.size()).data + 64 * comm.rank().value;
  for (const CommGroupId group : all_groups) {
    if (!belongs(comm, group)) continue;
    for (const std::int64_t bytes : {std::int64_t{4}, std::int64_t{68}, std::int64_t{100012}, most}) {
      comm.reset_traffic();
      comm.wait(comm.all_reduce({data, bytes, ElementType::f32}, group));
      const std::int64_t each_way = reduction_traffic(comm, bytes, group);
      EXPECT_EQ(comm.traffic(), (Traffic{each_way, each_way})) << bytes << " bytes in group " << group.value;
    }
  }
}

void groups_of_others_are_refused(Communicator& comm) {
  float value = 0;
  const auto refused = [&](CommGroupId group) {
    try {
      comm.all_reduce(view(&value, 1), group);
      ADD_FAILURE() << "rank " << comm.rank().value << " may reduce in group " << group.value;
    } catch (const std::invalid_argument& error) {
      const std::string rank = "rank " + std::to_string(comm.rank().value);
      EXPECT_THAT(error.what(),
                  testing::AllOf(testing::HasSubstr(rank), testing::HasSubstr("group " + std::to_string(group.value))));
    }
  };
  for (const CommGroupId group : all_groups) {
    if (!belongs(comm, group)) refused(group);
  }
  refused(CommGroupId(-1));
  refused(CommGroupId(comm.groups().count()));
}

void a_failure_in_a_group_reaches_everybody(Communicator& comm) {
  if (comm.size() == 1) return;
  const Rank last(comm.size() - 1);
  float value = 0;
  try {
    if (comm.rank() == last) comm.abort("the group's own trouble");
    if (comm.rank() == Rank(0)) comm.wait(comm.all_reduce(view(&value, 1), outer));
    comm.wait(comm.recv({&value, 4}, comm.rank() == Rank(0) ? last : Rank(0), {Channel::backward, 1}));
    ADD_FAILURE() << "nobody failed";
  } catch (const PeerFailure& failure) {
    EXPECT_EQ(failure.rank(), last);
    EXPECT_THAT(failure.what(), testing::HasSubstr("the group's own trouble"));
  }
}

constexpr ConformanceCase cases[] = {
    {"disjoint_groups_reduce_at_once", reduce_in_arenas<evens, odds>},
    {"overlapping_groups_start_in_any_order", reduce_in_arenas<first_two, middle_two, first_three>},
    {"coinciding_groups_are_kept_apart", reduce_in_arenas<outer, inner, outer_again>},
    {"all_groups_reduce_at_once_in_arenas", all_reduce_at_once<Place::same_offset>},
    {"all_groups_reduce_at_once_at_unequal_offsets", all_reduce_at_once<Place::own_offset>},
    {"all_groups_reduce_at_once_outside_arenas", all_reduce_at_once<Place::outside>},
    {"sums_of_groups_are_bitwise_equal", sums_of_groups_are_bitwise_equal},
    {"a_group_that_waits_holds_up_no_other", a_group_that_waits_holds_up_no_other},
    {"groups_run_beside_the_world_and_messages", groups_run_beside_the_world_and_messages},
    {"traffic_of_groups_follows_the_formulas", traffic_of_groups_follows_the_formulas},
    {"groups_of_others_are_refused", groups_of_others_are_refused},
    {"a_failure_in_a_group_reaches_everybody", a_failure_in_a_group_reaches_everybody},
};

}  // namespace

std::vector<std::vector<Rank>> conformance_groups(int ranks) {
  const auto those = [&](const std::function<bool(int)>& in) {
    std::vector<Rank> members;
    for (int r = 0; r < ranks; ++r) {
      if (in(r)) members.emplace_back(r);
    }
    if (members.empty()) members.emplace_back(0);
    return members;
  };
  const int last = ranks - 1;
  const std::vector<Rank> ends = those([&](int r) { return r == 0 || r == last; });
  return {those([](int r) { return r % 2 == 0; }),
          those([](int r) { return r % 2 == 1; }),
          those([](int r) { return r < 2; }),
          those([](int r) { return r == 1 || r == 2; }),
          those([](int r) { return r < 3; }),
          ends,
          those([&](int r) { return r == 1 || r == last - 1; }),
          ends};
}

std::span<const ConformanceCase> group_cases() { return cases; }

}  // namespace parabench::comm
