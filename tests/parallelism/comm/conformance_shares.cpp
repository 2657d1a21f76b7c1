// The part of the conformance suite about collectives of shares, and broadcasts: in every group, in arenas and outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/parallelism/comm/conformance_data.h"
#include "tests/parallelism/comm/conformance_parts.h"

namespace parabench::comm {
namespace {

/// Elements of a group's collectives. The largest, of the world alone, is outside an arena more than a piece of
/// scratch.
constexpr std::int64_t most = 300007;
std::vector<std::int64_t> sizes_in(CommGroupId group) {
  return group == world_group ? std::vector<std::int64_t>{0, 1, 65, 4099, most} : std::vector<std::int64_t>{4099};
}

template <class T>
Share elements_of(Share bytes) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  return {bytes.begin / size, bytes.end / size};
}

/// `check(group, shares, elements)` for every division of all sizes in all groups of the rank.
template <class T, class Check>
void for_each_division(Communicator& comm, Check check) {
  for (const CommGroupId group : own_groups(comm)) {
    const auto members = static_cast<int>(comm.groups().members(group).size());
    for (const std::int64_t n : sizes_in(group)) {
      for (const Shares& shares : divisions(n, members, sizeof(T))) check(group, shares, n);
    }
  }
}

template <class T, Place place>
void reduce_scatter_gives_each_its_share(Communicator& comm) {
  const Elements<T> memory(comm, place, most + 2);
  T* const data = memory.data() + 1;
  for_each_division<T>(comm, [&](CommGroupId group, const Shares& shares, std::int64_t n) {
    data[-1] = data[n] = T(-77);
    fill_whole(data, n, comm.rank().value);
    comm.wait(comm.reduce_scatter(view(data, n), shares, group));
    const std::vector<Rank>& members = comm.groups().members(group);
    const Share own = elements_of<T>(shares.of(comm.groups().position(group, comm.rank())));
    for (std::int64_t i = own.begin; i < own.end; ++i) {
      std::int64_t sum = 0;
      for (const Rank member : members) sum += whole_input(member.value, i);
      ASSERT_EQ(data[i], static_cast<T>(sum)) << "element " << i << " of " << n << ", share of " << own.begin << " to "
                                              << own.end << " in group " << group.value;
    }
    ASSERT_EQ(data[-1], T(-77));
    ASSERT_EQ(data[n], T(-77));
  });
}

template <class T>
BufferView gathered_view(T* data, std::int64_t n) {
  return sizeof(T) == 1 ? BufferView{data, n} : view(data, n);
}

template <class T, Place place>
void all_gather_brings_every_share_to_all(Communicator& comm) {
  const Elements<T> memory(comm, place, most + 2);
  T* const data = memory.data() + 1;
  const auto content = [](Rank rank, std::int64_t i) { return static_cast<T>(whole_input(rank.value, i)); };
  for_each_division<T>(comm, [&](CommGroupId group, const Shares& shares, std::int64_t n) {
    std::fill(data - 1, data + n + 1, T(-77));
    const int position = comm.groups().position(group, comm.rank());
    const Share own = elements_of<T>(shares.of(position));
    for (std::int64_t i = own.begin; i < own.end; ++i) data[i] = content(comm.rank(), i);
    comm.wait(comm.all_gather(gathered_view(data, n), shares, group));
    for (int k = 0; k < shares.members(); ++k) {
      const Share part = elements_of<T>(shares.of(k));
      const Rank owner = comm.groups().members(group)[k];
      for (std::int64_t i = part.begin; i < part.end; ++i)
        ASSERT_EQ(data[i], content(owner, i)) << "element " << i << " of " << n << " in group " << group.value;
    }
    ASSERT_EQ(data[-1], T(-77));
    ASSERT_EQ(data[n], T(-77));
  });
}

template <class T, Place place>
void broadcast_brings_the_roots_buffer_to_all(Communicator& comm) {
  const Elements<T> memory(comm, place, most + 2);
  T* const data = memory.data() + 1;
  for (const CommGroupId group : own_groups(comm)) {
    for (const std::int64_t n : sizes_in(group)) {
      for (const Rank root : comm.groups().members(group)) {
        for (std::int64_t i = 0; i < n; ++i) data[i] = static_cast<T>(whole_input(comm.rank().value, i));
        data[-1] = data[n] = T(-77);
        comm.wait(comm.broadcast(gathered_view(data, n), root, group));
        for (std::int64_t i = 0; i < n; ++i)
          ASSERT_EQ(data[i], static_cast<T>(whole_input(root.value, i))) << "element " << i << " of " << n;
        ASSERT_EQ(data[-1], T(-77));
        ASSERT_EQ(data[n], T(-77));
      }
    }
  }
}

/// Numbers whose sum depends on the order of addition.
std::vector<float> rough_input(const Communicator& comm, std::int64_t n) {
  std::mt19937 random(comm.rank().value);
  std::normal_distribution<float> normal;
  std::vector<float> input(n);
  std::generate(input.begin(), input.end(), [&] { return normal(random); });
  return input;
}

template <Place place>
void scattered_sums_have_the_bits_of_the_order_promised(Communicator& comm) {
  constexpr std::int64_t n = 20011;
  const Elements<float> memory(comm, place, n);
  float* const data = memory.data();
  const std::vector<float> input = rough_input(comm, n);
  for (const CommGroupId group : own_groups(comm)) {
    const auto members = static_cast<int>(comm.groups().members(group).size());
    const int position = comm.groups().position(group, comm.rank());
    const auto scattered = [&](const Shares& shares) {
      std::copy(input.begin(), input.end(), data);
      comm.wait(comm.reduce_scatter(view(data, n), shares, group));
      return bytes_of(data + shares.of(position).begin / 4, shares.of(position).bytes());
    };
    std::copy(input.begin(), input.end(), data);
    comm.wait(comm.all_reduce(view(data, n), group));
    const std::string whole = bytes_of(data, n * 4);
    for (const Shares& shares : divisions(n, members, 4)) {
      const std::string own = scattered(shares);
      EXPECT_TRUE(scattered(shares) == own) << "another run, group " << group.value;
      if (!comm.capabilities().shared_arenas) continue;
      EXPECT_TRUE(own == whole.substr(shares.of(position).begin, shares.of(position).bytes()))
          << "group " << group.value;
    }
  }
}

void large_shares_in_arenas(Communicator& comm) {
  constexpr std::int64_t n = (10 << 20) / 4;  // more than one turn for most shares
  const Elements<float> memory(comm, Place::same_offset, n);
  float* const data = memory.data();
  for (const Shares& shares : {Shares::even(n * 4, comm.size()), divisions(n, comm.size(), 4)[1]}) {
    fill_whole(data, n, comm.rank().value);
    comm.wait(comm.reduce_scatter(view(data, n), shares));
    const Share own = elements_of<float>(shares.of(comm.rank().value));
    std::fill(data, data + own.begin, -77.0F);
    std::fill(data + own.end, data + n, -77.0F);
    comm.wait(comm.all_gather(view(data, n), shares));
    expect_whole_sums(data, n, comm.groups().members(world_group));
    fill_whole(data, n, comm.rank().value);
    const Rank root(comm.size() - 1);
    comm.wait(comm.broadcast(view(data, n), root));
    expect_whole_sums(data, n, {root});
  }
}

constexpr ConformanceCase cases[] = {
    {"reduce_scatter_in_arenas_f32", reduce_scatter_gives_each_its_share<float, Place::same_offset>},
    {"reduce_scatter_in_arenas_f64", reduce_scatter_gives_each_its_share<double, Place::same_offset>},
    {"reduce_scatter_at_unequal_offsets", reduce_scatter_gives_each_its_share<float, Place::own_offset>},
    {"reduce_scatter_outside_arenas", reduce_scatter_gives_each_its_share<double, Place::outside>},
    {"all_gather_in_arenas_f32", all_gather_brings_every_share_to_all<float, Place::same_offset>},
    {"all_gather_at_unequal_offsets_f64", all_gather_brings_every_share_to_all<double, Place::own_offset>},
    {"all_gather_outside_arenas_f32", all_gather_brings_every_share_to_all<float, Place::outside>},
    {"all_gather_outside_arenas_bytes", all_gather_brings_every_share_to_all<signed char, Place::outside>},
    {"broadcast_in_arenas_f64", broadcast_brings_the_roots_buffer_to_all<double, Place::same_offset>},
    {"broadcast_at_unequal_offsets_bytes", broadcast_brings_the_roots_buffer_to_all<signed char, Place::own_offset>},
    {"broadcast_outside_arenas_f64", broadcast_brings_the_roots_buffer_to_all<double, Place::outside>},
    {"scattered_sums_have_the_bits_promised_in_arenas",
     scattered_sums_have_the_bits_of_the_order_promised<Place::same_offset>},
    {"scattered_sums_have_the_bits_promised_outside",
     scattered_sums_have_the_bits_of_the_order_promised<Place::outside>},
    {"large_shares_in_arenas", large_shares_in_arenas},
};

}  // namespace

std::span<const ConformanceCase> share_cases() { return cases; }

}  // namespace parabench::comm
