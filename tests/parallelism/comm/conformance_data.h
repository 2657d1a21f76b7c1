// What the conformance cases share: whole numbers to reduce, whose sums are exact, and where and how much they send.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "parallelism/comm/communicator.h"

namespace parabench::comm {

template <class T>
BufferView view(T* data, std::int64_t elements) {
  constexpr ElementType type = sizeof(T) == 8   ? ElementType::f64
                               : sizeof(T) == 4 ? ElementType::f32
                                                : ElementType::bf16;
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

/// Where a case's buffers lie: in the arena, there at different offsets on different ranks, or elsewhere.
enum class Place { same_offset, own_offset, outside };

/// Memory for a case, of so many elements, zeroed.
template <class T>
class Elements {
 public:
  Elements(Communicator& comm, Place place, std::int64_t count) : own_(place == Place::outside ? count : 0) {
    if (place == Place::outside) {
      data_ = own_.data();
    } else {
      const auto bytes = (count + comm.size()) * static_cast<std::int64_t>(sizeof(T));
      data_ = reinterpret_cast<T*>(comm.allocate(bytes).data) + (place == Place::own_offset ? comm.rank().value : 0);
    }
  }
  T* data() const { return data_; }

 private:
  std::vector<T> own_;
  T* data_;
};

/// The groups that the rank is in.
inline std::vector<CommGroupId> own_groups(const Communicator& comm) {
  std::vector<CommGroupId> own;
  for (CommGroupId group = world_group; comm.groups().has(group); ++group) {
    if (comm.groups().position(group, comm.rank()) >= 0) own.push_back(group);
  }
  return own;
}

/// Divisions of so many elements of `size` bytes: even, ever larger, all to one member, none for the first and every
/// third one after it.
inline std::vector<Shares> divisions(std::int64_t elements, int members, std::int64_t size) {
  const auto by = [&](auto weight) {
    std::int64_t total = 0, sum = 0, begin = 0;
    for (int i = 0; i < members; ++i) total += weight(i);
    std::vector<std::int64_t> bytes;
    for (int i = 0; i < members; ++i) {
      sum += weight(i);
      const std::int64_t end = elements * sum / std::max<std::int64_t>(total, 1);
      bytes.push_back((end - begin) * size);
      begin = end;
    }
    bytes.back() += (elements - begin) * size;
    return Shares(bytes);
  };
  return {Shares::even(elements * size, members), by([](int i) { return i + 1; }),
          by([&](int i) { return i == members / 2 ? 1 : 0; }), by([](int i) { return i % 3 == 0 ? 0 : 1; })};
}

/// Whether Traffic counts collectives by formulas alone: messages count what they hold (transfers_test.cpp).
inline bool counts_by_formula(const Communicator& comm) {
  const Capabilities capabilities = comm.capabilities();
  return capabilities.shared_arenas || capabilities.reduction == "library";
}

/// Bytes that a reduction takes in, and gives out, on this rank, where it is counted by formula.
inline std::int64_t reduction_traffic(const Communicator& comm, std::int64_t bytes, CommGroupId group = world_group) {
  const auto p = static_cast<int>(comm.groups().members(group).size());
  if (!comm.capabilities().shared_arenas) return 2 * (p - 1) * bytes / p;
  return (p - 1) * share_of(bytes, p, comm.groups().position(group, comm.rank())).bytes();
}

inline std::string bytes_of(const void* data, std::size_t bytes) { return {static_cast<const char*>(data), bytes}; }

}  // namespace parabench::comm
