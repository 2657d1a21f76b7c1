// The part of the conformance suite where much is on its way at once, and all of it is counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/parallelism/comm/conformance_data.h"
#include "tests/parallelism/comm/conformance_parts.h"

namespace parabench::comm {
namespace {

/// One message of a random exchange that every rank derives from the same seed.
struct Letter {
  Rank from, to;
  Message message;
  std::int64_t bytes;
};

std::vector<Letter> random_letters(int ranks, int count) {
  std::mt19937 random(20 + ranks);
  const auto draw = [&](int n) { return static_cast<int>(random() % n); };
  constexpr std::int64_t sizes[] = {0, 1, 63, 64, 65, 1000, 4095, 4096, 65536, 300001, 2500007};
  std::vector<Letter> letters;
  for (int i = 0; i < count; ++i) {
    const int from = draw(ranks);
    const int to = (from + 1 + draw(ranks - 1)) % ranks;
    letters.push_back({Rank(from),
                       Rank(to),
                       {static_cast<Channel>(draw(channel_count)), std::uint64_t(1000 + i)},
                       sizes[draw(std::size(sizes))]});
  }
  return letters;
}

std::vector<std::uint32_t> content(const Letter& letter) {
  std::vector<std::uint32_t> words(letter.bytes / 4 + 1);
  std::iota(words.begin(), words.end(), static_cast<std::uint32_t>(letter.message.tag * 2654435761u));
  return words;
}

void messages_interleave(Communicator& comm) {
  if (comm.size() == 1) return;
  const std::vector<Letter> letters = random_letters(comm.size(), 60);
  std::vector<std::vector<std::uint32_t>> buffers;
  std::vector<Work> works;
  for (const Letter& letter : letters) {
    std::vector<std::uint32_t>& buffer = buffers.emplace_back(content(letter));
    if (letter.from == comm.rank()) {
      works.push_back(comm.send({buffer.data(), letter.bytes}, letter.to, letter.message));
    } else if (letter.to == comm.rank()) {
      std::fill(buffer.begin(), buffer.end(), 0);
      works.push_back(comm.recv({buffer.data(), letter.bytes}, letter.from, letter.message));
    }
  }
  std::mt19937 order(comm.rank().value);
  std::shuffle(works.begin(), works.end(), order);
  comm.wait_all(works);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (letters[i].to != comm.rank()) continue;
    EXPECT_EQ(std::memcmp(buffers[i].data(), content(letters[i]).data(), letters[i].bytes), 0) << "letter " << i;
  }
}

void large_messages_cross(Communicator& comm) {
  if (comm.size() == 1) return;
  const std::int64_t bytes = large_bytes(comm) + 12;
  const Rank next = neighbour(comm, 1), previous = neighbour(comm, -1);
  const auto letter = [&](Rank from, std::uint64_t tag) {
    return content({.from = from, .to = from, .message = {Channel::forward, tag + from.value}, .bytes = bytes});
  };
  const auto to_next = letter(comm.rank(), 1), to_previous = letter(comm.rank(), 101);
  std::vector<std::uint32_t> from_previous(bytes / 4 + 1), from_next(bytes / 4 + 1);
  Work works[] = {
      comm.send({const_cast<std::uint32_t*>(to_next.data()), bytes}, next, {Channel::forward, 1}),
      comm.send({const_cast<std::uint32_t*>(to_previous.data()), bytes}, previous, {Channel::backward, 2}),
      comm.recv({from_previous.data(), bytes}, previous, {Channel::forward, 1}),
      comm.recv({from_next.data(), bytes}, next, {Channel::backward, 2}),
  };
  comm.wait_all(works);
  EXPECT_EQ(std::memcmp(from_previous.data(), letter(previous, 1).data(), bytes), 0);
  EXPECT_EQ(std::memcmp(from_next.data(), letter(next, 101).data(), bytes), 0);
}

void lanes_run_side_by_side(Communicator& comm) {
  if (comm.size() == 1) return;
  constexpr std::int64_t n = 500009;
  const Rank next = neighbour(comm, 1), previous = neighbour(comm, -1);
  float* const sums = reinterpret_cast<float*>(comm.allocate(n * 4).data);
  fill_whole(sums, n, comm.rank().value);
  std::vector<float> forward(n), backward(n), got_forward(n), got_backward(n);
  fill_whole(forward.data(), n, 100 + comm.rank().value);
  fill_whole(backward.data(), n, 200 + comm.rank().value);
  const auto bytes = [](std::vector<float>& v) { return BufferView{v.data(), n * 4}; };
  Work works[] = {
      comm.recv(bytes(got_backward), next, {Channel::backward, 7}),
      comm.recv(bytes(got_forward), previous, {Channel::forward, 6}),
      comm.all_reduce(view(sums, n)),
      comm.send(bytes(backward), previous, {Channel::backward, 7}),
      comm.send(bytes(forward), next, {Channel::forward, 6}),
  };
  comm.wait_all(works);
  expect_whole_sums(sums, n, comm.groups().members(world_group));
  fill_whole(forward.data(), n, 100 + previous.value);
  fill_whole(backward.data(), n, 200 + next.value);
  EXPECT_TRUE(got_forward == forward);
  EXPECT_TRUE(got_backward == backward);
}

void traffic_follows_the_formulas(Communicator& comm) {
  const int p = comm.size();
  std::byte* const arena = comm.allocate(1 << 20).data;
  for (const std::int64_t bytes : {4, 60, 64, 68, 4096, 100012, 1 << 20}) {
    comm.reset_traffic();
    comm.wait(comm.all_reduce({arena, bytes, ElementType::f32}));
    if (!counts_by_formula(comm)) {
      // A message has two ends, and each member has to hear of what all others have.
      const auto together = [&](std::int64_t own) {
        std::int64_t sum = 0;
        for (const std::string& text : all_gather(comm, std::to_string(own))) sum += std::stoll(text);
        return sum;
      };
      const Traffic own = comm.traffic();
      const std::int64_t sent = together(own.sent);
      EXPECT_EQ(sent, together(own.received));
      EXPECT_GE(sent, 2 * (p - 1) * bytes);
      continue;
    }
    const std::int64_t each_way = reduction_traffic(comm, bytes);
    EXPECT_EQ(comm.traffic(), (Traffic{each_way, each_way})) << bytes << " bytes";
    if (!comm.capabilities().shared_arenas) continue;
    std::int64_t everywhere = 0;
    for (const std::string& text : all_gather(comm, std::to_string(each_way))) everywhere += std::stoll(text);
    EXPECT_EQ(everywhere, (p - 1) * bytes);
  }
  if (p == 1) return;
  comm.reset_traffic();
  std::vector<char> mine(1234), theirs(p * 1000);
  const Rank next = neighbour(comm, 1), previous = neighbour(comm, -1);
  const auto length = [](Rank from) { return std::int64_t{100} + from.value; };
  Work works[] = {comm.send({mine.data(), length(comm.rank())}, next, {Channel::forward, 1}),
                  comm.recv({theirs.data(), length(previous)}, previous, {Channel::forward, 1})};
  comm.wait_all(works);
  EXPECT_EQ(comm.traffic(), (Traffic{length(comm.rank()), length(previous)}));
}

constexpr ConformanceCase cases[] = {
    {"messages_interleave", messages_interleave},
    {"large_messages_cross", large_messages_cross},
    {"lanes_run_side_by_side", lanes_run_side_by_side},
    {"traffic_follows_the_formulas", traffic_follows_the_formulas},
};

}  // namespace

std::span<const ConformanceCase> traffic_cases() { return cases; }

}  // namespace parabench::comm
