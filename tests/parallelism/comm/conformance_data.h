// What the conformance cases share: whole numbers to reduce, whose sums are exact, and where and how much they send.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/reduce.h"

namespace parabench {

template <class T>
BufferView view(T* data, std::int64_t elements) {
  constexpr ElementType type = sizeof(T) == 8 ? ElementType::f64 : ElementType::f32;
  return {data, elements * static_cast<std::int64_t>(sizeof(T)), type};
}

/// A whole number, different for every rank and element, whose sums over up to 64 ranks are exact in f32.
inline int whole_input(int rank, std::int64_t element) {
  return static_cast<int>((element * 31 + rank * 7919 + element / 1021) % 65537) - 32768;
}

template <class T>
void fill_whole(T* data, std::int64_t elements, int rank) {
  for (std::int64_t i = 0; i < elements; ++i) data[i] = static_cast<T>(whole_input(rank, i));
}

/// `shift`: what was added to the rank when filling.
template <class T>
void expect_whole_sums(const T* data, std::int64_t elements, const std::vector<Rank>& members, int shift = 0) {
  for (std::int64_t i = 0; i < elements; ++i) {
    std::int64_t sum = 0;
    for (const Rank member : members) sum += whole_input(member.value + shift, i);
    ASSERT_EQ(data[i], static_cast<T>(sum)) << "element " << i << " of " << elements;
  }
}

/// Many ranks share the memory of the machine that runs the tests.
inline std::int64_t large_bytes(const Communicator& comm) { return comm.size() <= 2 ? 40 << 20 : 6 << 20; }

/// In the ring of all ranks.
inline Rank neighbour(const Communicator& comm, int distance) {
  return Rank((comm.rank().value + distance + comm.size()) % comm.size());
}

/// Bytes that a reduction takes in, and gives out, on this rank.
inline std::int64_t reduction_traffic(const Communicator& comm, std::int64_t bytes, int group = 0) {
  const auto p = static_cast<int>(comm.groups().members(group).size());
  if (!comm.capabilities().shared_arenas) return 2 * (p - 1) * bytes / p;
  return (p - 1) * share_of(bytes, p, comm.groups().position(group, comm.rank())).bytes();
}

inline std::string bytes_of(const void* data, std::size_t bytes) { return {static_cast<const char*>(data), bytes}; }

}  // namespace parabench
