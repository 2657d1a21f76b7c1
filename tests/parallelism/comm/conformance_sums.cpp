// The part of the conformance suite that sums over all ranks, in arenas and outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "parallelism/comm/bf16.h"
#include "tests/parallelism/comm/conformance_data.h"
#include "tests/parallelism/comm/conformance_parts.h"

namespace parabench::comm {
namespace {

template <class T>
void sums_in_arena(Communicator& comm) {
  constexpr std::int64_t sizes[] = {0, 1, 2, 15, 16, 17, 33, 1000, 4097, 262147, 10 << 20};
  constexpr T guard = T(-77);
  const std::int64_t most = large_bytes(comm);
  T* const data = reinterpret_cast<T*>(comm.allocate(most + 128).data);
  for (const std::int64_t size : sizes) {
    const std::int64_t n = std::min(size, most / static_cast<std::int64_t>(sizeof(T)));
    T* const begin = data + 3;  // not on a line, so that shares and lines do not coincide
    begin[-1] = begin[n] = guard;
    fill_whole(begin, n, comm.rank().value);
    comm.wait(comm.all_reduce(view(begin, n)));
    expect_whole_sums(begin, n, comm.groups().members(world_group));
    EXPECT_EQ(begin[-1], guard);
    EXPECT_EQ(begin[n], guard);
  }
}

void sums_outside_arena(Communicator& comm) {
  for (const std::int64_t n : {1, 7, 65, 100003, 1300001}) {
    std::vector<float> data(n);
    fill_whole(data.data(), n, comm.rank().value);
    comm.wait(comm.all_reduce(view(data.data(), n)));
    expect_whole_sums(data.data(), n, comm.groups().members(world_group));
  }
}

void sums_at_unequal_offsets(Communicator& comm) {
  constexpr std::int64_t n = 70001;
  double* const data = reinterpret_cast<double*>(comm.allocate((n + 64) * 8).data) + comm.rank().value;
  fill_whole(data, n, comm.rank().value);
  comm.wait(comm.all_reduce(view(data, n)));
  expect_whole_sums(data, n, comm.groups().members(world_group));
}

void sums_are_bitwise_equal(Communicator& comm) {
  constexpr std::int64_t n = 20011;
  std::mt19937 random(comm.rank().value);
  std::normal_distribution<float> normal;
  float* const data = reinterpret_cast<float*>(comm.allocate(n * 4).data);
  std::generate_n(data, n, [&] { return normal(random); });
  comm.wait(comm.all_reduce(view(data, n)));
  const std::string own = bytes_of(data, n * 4);
  for (const std::string& other : all_gather(comm, own)) EXPECT_TRUE(other == own);
}

/// Whole numbers whose sums, and parts of these, need no more than 8 bits: the same in whatever order they are added.
void sums_of_bf16(Communicator& comm) {
  const auto input = [](Rank rank, std::int64_t i) { return static_cast<float>(whole_input(rank.value, i) % 9); };
  for (const Place place : {Place::same_offset, Place::own_offset, Place::outside}) {
    for (const std::int64_t n : {1, 33, 70001, 300007}) {
      const Elements<Bf16> memory(comm, place, n);
      for (std::int64_t i = 0; i < n; ++i) memory.data()[i] = input(comm.rank(), i);
      comm.wait(comm.all_reduce(view(memory.data(), n)));
      for (std::int64_t i = 0; i < n; ++i) {
        float sum = 0;
        for (const Rank rank : comm.groups().members(world_group)) sum += input(rank, i);
        ASSERT_EQ(float{memory.data()[i]}, sum) << "element " << i << " of " << n;
      }
    }
  }
}

void collectives_queue_up(Communicator& comm) {
  constexpr std::int64_t n = 3001;
  double* const data = reinterpret_cast<double*>(comm.allocate(3 * n * 8).data);
  std::vector<Work> works;
  for (int k = 0; k < 3; ++k) {
    fill_whole(data + k * n, n, comm.rank().value);
    works.push_back(comm.all_reduce(view(data + k * n, n)));
    works.push_back(comm.barrier());
  }
  std::reverse(works.begin(), works.end());
  comm.wait_all(works);
  for (int k = 0; k < 3; ++k) expect_whole_sums(data + k * n, n, comm.groups().members(world_group));
}

void arenas_are_zeroed_and_aligned(Communicator& comm) {
  for (const std::int64_t bytes : {1, 100, 4096, 100000}) {
    const Arena arena = comm.allocate(bytes);
    EXPECT_EQ(arena.bytes, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.data) % 64, 0u);
    EXPECT_EQ(arena.shared, comm.capabilities().shared_arenas);
    EXPECT_TRUE(std::all_of(arena.data, arena.data + bytes, [](std::byte b) { return b == std::byte{0}; }));
    std::memset(arena.data, 0xff, bytes);
  }
}

constexpr ConformanceCase cases[] = {
    {"sums_in_arena_f32", sums_in_arena<float>},
    {"sums_in_arena_f64", sums_in_arena<double>},
    {"sums_outside_arena", sums_outside_arena},
    {"sums_at_unequal_offsets", sums_at_unequal_offsets},
    {"sums_are_bitwise_equal", sums_are_bitwise_equal},
    {"sums_of_bf16", sums_of_bf16},
    {"collectives_queue_up", collectives_queue_up},
    {"arenas_are_zeroed_and_aligned", arenas_are_zeroed_and_aligned},
};

}  // namespace

std::span<const ConformanceCase> sum_cases() { return cases; }

}  // namespace parabench::comm
