// The part of the conformance suite about meeting, waiting and waking up.
#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "parallelism/comm/gather.h"
#include "tests/parallelism/comm/conformance_data.h"
#include "tests/parallelism/comm/conformance_parts.h"

namespace parabench::comm {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double thread_cpu_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void barrier_holds_everybody(Communicator& comm) {
  std::this_thread::sleep_for(std::chrono::milliseconds(15 * comm.rank().value));
  const auto now = [] { return std::to_string(Clock::now().time_since_epoch().count()); };
  const std::string before = now();
  comm.wait(comm.barrier());
  const std::int64_t after = std::stoll(now());
  for (const std::string& other : all_gather(comm, before)) EXPECT_GE(after, std::stoll(other));
}

void all_gather_takes_any_text(Communicator& comm) {
  const auto text_of = [](int rank) { return std::string(rank % 2 == 0 ? 30000 * rank : rank, char('a' + rank)); };
  const std::vector<std::string> texts = all_gather(comm, text_of(comm.rank().value));
  ASSERT_EQ(std::ssize(texts), comm.size());
  for (int r = 0; r < comm.size(); ++r) EXPECT_TRUE(texts[r] == text_of(r));
}

void gather_to_root_takes_any_text(Communicator& comm) {
  const auto text_of = [](int rank) { return std::string(rank % 2 == 1 ? 30000 * rank : rank, char('a' + rank)); };
  // Twice, since the others may be one gather ahead of rank 0.
  for (int round = 0; round < 2; ++round) {
    const std::vector<std::string> texts = gather_to_root(comm, text_of(comm.rank().value + round));
    ASSERT_EQ(std::ssize(texts), comm.rank() == Rank(0) ? comm.size() : 0);
    for (int r = 0; r < std::ssize(texts); ++r) EXPECT_TRUE(texts[r] == text_of(r + round));
  }
}

void notify_wakes(Communicator& comm) {
  const std::uint32_t seen = comm.events();
  const auto begin = Clock::now();
  std::jthread waker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    comm.notify();
  });
  while (comm.events() == seen) comm.sleep(seen, 5);
  EXPECT_LT(seconds_since(begin), 4);
  comm.sleep(seen, 5);  // what was not seen yet does not let anyone sleep
  EXPECT_LT(seconds_since(begin), 4);
}

void waiting_leaves_the_core_alone(Communicator& comm) {
  if (comm.size() == 1) return;
  constexpr double wait_s = 2;
  std::vector<float> data(1000);
  const double cpu_begin = thread_cpu_seconds();
  const auto begin = Clock::now();
  if (comm.rank() == Rank(0)) {
    std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
    comm.wait(comm.all_reduce(view(data.data(), 1000)));
    for (int r = 1; r < comm.size(); ++r) comm.wait(comm.send({data.data(), 4000}, Rank(r), {Channel::forward, 1}));
  } else {
    std::vector<float> received(1000);
    Work works[] = {comm.recv({received.data(), 4000}, Rank(0), {Channel::forward, 1}),
                    comm.all_reduce(view(data.data(), 1000))};
    comm.wait_all(works);
  }
  EXPECT_GE(seconds_since(begin), 0.95 * wait_s);
  EXPECT_LT(thread_cpu_seconds() - cpu_begin, 0.05 * wait_s);
}

constexpr ConformanceCase cases[] = {
    {"barrier_holds_everybody", barrier_holds_everybody},
    {"all_gather_takes_any_text", all_gather_takes_any_text},
    {"gather_to_root_takes_any_text", gather_to_root_takes_any_text},
    {"notify_wakes", notify_wakes},
    {"waiting_leaves_the_core_alone", waiting_leaves_the_core_alone},
};

}  // namespace

std::span<const ConformanceCase> waiting_cases() { return cases; }

}  // namespace parabench::comm
