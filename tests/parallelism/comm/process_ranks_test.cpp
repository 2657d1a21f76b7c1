// Ranks as forked processes that share a region: what happens when one of them dies, without any launcher.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "parallelism/comm/fabric_communicator.h"

namespace parabench::comm {
namespace {

using Clock = std::chrono::steady_clock;

std::shared_ptr<Fabric> shared_fabric(const RankGroups& groups, std::int64_t arena_bytes) {
  const FabricShape shape{groups, arena_bytes};
  Region region = Region::create_shared(layout(shape).total);
  region.commit(0, layout(shape).total);
  return std::make_shared<Fabric>(std::move(region), shape);
}

/// Forks one process per rank; `body` returns its exit code.
std::vector<pid_t> fork_ranks(const RankGroups& groups, const std::function<int(Communicator&)>& body) {
  const std::shared_ptr<Fabric> fabric = shared_fabric(groups, 1 << 20);
  std::vector<pid_t> children;
  for (int r = 0; r < groups.ranks(); ++r) {
    const pid_t child = fork();
    if (child == 0) {
      int code = 99;
      {
        FabricCommunicator comm(fabric, Rank(r));
        try {
          code = body(comm);
        } catch (...) {
        }
      }
      _exit(code);
    }
    children.push_back(child);
  }
  return children;
}

/// Exit code, or minus the signal that ended it.
int end_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(ProcessRanks, ReduceAndTalk) {
  const auto children = fork_ranks(3, [](Communicator& comm) {
    float* const value = reinterpret_cast<float*>(comm.allocate(4000).data);
    for (int i = 0; i < 1000; ++i) value[i] = static_cast<float>(comm.rank().value + i);
    comm.wait(comm.all_reduce({value, 4000, ElementType::f32}));
    for (int i = 0; i < 1000; ++i) {
      if (value[i] != static_cast<float>(3 * i + 3)) return 1;
    }
    return all_gather(comm, "hello").size() == 3 ? 0 : 2;
  });
  for (const pid_t child : children) EXPECT_EQ(end_of(child), 0);
}

TEST(ProcessRanks, AKilledOneIsNamedToTheOthersWithinTenSeconds) {
  const auto begin = Clock::now();
  const auto children = fork_ranks(3, [](Communicator& comm) {
    comm.wait(comm.barrier());
    if (comm.rank() == Rank(1)) kill(getpid(), SIGKILL);
    const std::string pid_of_1 = " has ended unexpectedly";
    try {
      float value = 0;
      // One waits for the dead rank itself, the other for one that waits.
      comm.wait(comm.recv({&value, 4}, Rank(comm.rank() == Rank(0) ? 1 : 0), {Channel::forward, 1}));
    } catch (const PeerFailure& failure) {
      const bool named = std::string(failure.what()).ends_with(pid_of_1);
      return failure.rank() == Rank(1) && named ? 0 : 1;
    }
    return 2;
  });
  // Nobody collects the dead child before the others have noticed: a zombie is dead, too.
  EXPECT_EQ(end_of(children[0]), 0);
  EXPECT_EQ(end_of(children[2]), 0);
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), 10);
  EXPECT_EQ(end_of(children[1]), -SIGKILL);
}

TEST(ProcessRanks, AKilledOneIsNamedToItsGroupAndToTheOthers) {
  const RankGroups pairs(4, {{Rank(0), Rank(1)}, {Rank(2), Rank(3)}});
  const auto children = fork_ranks(pairs, [](Communicator& comm) {
    const CommGroupId group(1 + comm.rank().value / 2);
    float value = 1;
    comm.wait(comm.all_reduce({&value, 4, ElementType::f32}, group));
    if (comm.rank() == Rank(1)) kill(getpid(), SIGKILL);
    try {
      if (comm.rank() == Rank(3)) comm.wait(comm.recv({&value, 4}, Rank(2), {Channel::forward, 1}));
      comm.wait(comm.all_reduce({&value, 4, ElementType::f32}, group));
    } catch (const PeerFailure& failure) {
      return failure.rank() == Rank(1) && value == 2 ? 0 : 1;
    }
    return 2;
  });
  for (const int survivor : {0, 2, 3}) EXPECT_EQ(end_of(children[survivor]), 0) << "rank " << survivor;
  EXPECT_EQ(end_of(children[1]), -SIGKILL);
}

TEST(ProcessRanks, OneThatAnExceptionEndsStopsTheOthers) {
  const std::shared_ptr<Fabric> fabric = shared_fabric(2, 0);
  const pid_t child = fork();
  if (child == 0) {
    try {
      FabricCommunicator comm(fabric, Rank(1));
      throw std::runtime_error("not told to anybody");
    } catch (const std::exception&) {
    }
    _exit(0);
  }
  FabricCommunicator comm(fabric, Rank(0));
  try {
    comm.wait(comm.barrier());
    ADD_FAILURE() << "nobody is left to meet";
  } catch (const PeerFailure& failure) {
    EXPECT_STREQ(failure.what(), "rank 1 failed: an exception ended it");
  }
  EXPECT_EQ(end_of(child), 0);
}

TEST(ProcessRanks, OneThatLeftInGoodOrderIsNotMissed) {
  const auto children = fork_ranks(2, [](Communicator& comm) {
    if (comm.rank() == Rank(1)) return 0;
    const auto begin = Clock::now();
    while (Clock::now() - begin < std::chrono::milliseconds(1500)) comm.sleep(comm.events());
    return 0;
  });
  EXPECT_EQ(end_of(children[1]), 0);
  EXPECT_EQ(end_of(children[0]), 0);
}

TEST(Process, IsToldFromALaterOneWithTheSamePid) {
  const ProcessId self = this_process();
  EXPECT_EQ(self.pid, getpid());
  EXPECT_TRUE(alive(self));
  EXPECT_FALSE(alive({self.pid, self.start + 1}));
}

}  // namespace
}  // namespace parabench::comm
