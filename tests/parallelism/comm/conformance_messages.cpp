// The part of the conformance suite where messages must not wait for each other.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "tests/parallelism/comm/conformance_data.h"
#include "tests/parallelism/comm/conformance_parts.h"

namespace parabench::comm {
namespace {

constexpr std::int64_t n = 70001;

std::vector<float> content_of(int rank, int shift) {
  std::vector<float> content(n);
  fill_whole(content.data(), n, rank + shift);
  return content;
}

/// Looks at receives until they wait on every rank, before any rank sends: whatever they can hold up, they do from here
/// on.
void expect_to_wait(Communicator& comm, std::span<Work> works) {
  const auto look = [&] {
    for (int i = 0; i < 10; ++i) {
      for (Work& work : works) EXPECT_FALSE(work.test());
    }
  };
  look();
  comm.wait(comm.barrier());
  look();
  comm.wait(comm.barrier());
}

/// Everybody receives first: both ways round, then sends both ways.
template <Channel up, Channel down>
void a_ring_receives_first(Communicator& comm) {
  if (comm.size() == 1) return;
  const Rank next = neighbour(comm, 1), previous = neighbour(comm, -1);
  std::vector<float> from_previous(n), from_next(n);
  Work works[] = {comm.recv(view(from_previous.data(), n), previous, {up, 1}),
                  comm.recv(view(from_next.data(), n), next, {down, 2}), Work(), Work()};
  expect_to_wait(comm, {works, 2});
  std::vector<float> to_next = content_of(comm.rank().value, 100), to_previous = content_of(comm.rank().value, 200);
  works[2] = comm.send(view(to_next.data(), n), next, {up, 1});
  works[3] = comm.send(view(to_previous.data(), n), previous, {down, 2});
  comm.wait_all(works);
  EXPECT_TRUE(from_previous == content_of(previous.value, 100));
  EXPECT_TRUE(from_next == content_of(next.value, 200));
}

/// A value goes round: rank 0 waits for it before it has sent it, and nobody can send before the rank before it.
template <int step, Channel channel>
void a_relay_comes_back_to_its_first_receiver(Communicator& comm) {
  if (comm.size() == 1) return;
  const Rank next = neighbour(comm, step), previous = neighbour(comm, -step);
  std::vector<float> data = content_of(0, 0), received(n);
  Work arrival[] = {comm.recv(view(received.data(), n), previous, {channel, 3})};
  expect_to_wait(comm, arrival);
  if (comm.rank() != Rank(0)) {
    comm.wait_all(arrival);
    data = received;
  }
  comm.wait(comm.send(view(data.data(), n), next, {channel, 3}));
  comm.wait_all(arrival);
  EXPECT_TRUE(received == content_of(0, 0));
}

/// A V: up the ranks and down again on one channel, received from both sides before anything is sent.
template <Channel channel>
void a_v_turns_at_the_last_rank(Communicator& comm) {
  if (comm.size() == 1) return;
  const bool first = comm.rank() == Rank(0), last = comm.rank().value == comm.size() - 1;
  std::vector<float> up = first ? content_of(0, 0) : std::vector<float>(n), down(n);
  std::vector<Work> returning, coming;
  if (!last) returning.push_back(comm.recv(view(down.data(), n), neighbour(comm, 1), {channel, 5}));
  if (!first) coming.push_back(comm.recv(view(up.data(), n), neighbour(comm, -1), {channel, 4}));
  expect_to_wait(comm, returning);
  comm.wait_all(coming);
  if (last) {
    down = up;
  } else {
    comm.wait(comm.send(view(up.data(), n), neighbour(comm, 1), {channel, 4}));
  }
  comm.wait_all(returning);
  if (!first) comm.wait(comm.send(view(down.data(), n), neighbour(comm, -1), {channel, 5}));
  EXPECT_TRUE(down == content_of(0, 0));
}

constexpr Channel forward = Channel::forward, backward = Channel::backward;

constexpr ConformanceCase cases[] = {
    {"a_ring_receives_first_on_two_channels", a_ring_receives_first<forward, backward>},
    {"a_ring_receives_first_on_one_channel", a_ring_receives_first<forward, forward>},
    {"a_relay_comes_back_forward", a_relay_comes_back_to_its_first_receiver<1, forward>},
    {"a_relay_comes_back_backward", a_relay_comes_back_to_its_first_receiver<-1, backward>},
    {"a_v_turns_forward", a_v_turns_at_the_last_rank<forward>},
    {"a_v_turns_backward", a_v_turns_at_the_last_rank<backward>},
};

}  // namespace

std::span<const ConformanceCase> message_cases() { return cases; }

}  // namespace parabench::comm
