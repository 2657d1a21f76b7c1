#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <tuple>

#include "base/error.h"
#include "parallelism/comm/threads/world.h"
#include "tests/parallelism/comm/conformance.h"

namespace parabench::comm {
namespace {

class ThreadRanks : public testing::TestWithParam<std::tuple<int, ConformanceCase>> {};

TEST_P(ThreadRanks, conform) {
  const auto& [ranks, expectation] = GetParam();
  run_thread_ranks({ranks, conformance_groups(ranks)}, expectation.run);
}

INSTANTIATE_TEST_SUITE_P(all, ThreadRanks,
                         testing::Combine(testing::Values(1, 2, 3, 4, 7),
                                          testing::ValuesIn(conformance_cases().begin(), conformance_cases().end())),
                         [](const auto& instance) {
                           return std::string(std::get<1>(instance.param).name) + "_" +
                                  std::to_string(std::get<0>(instance.param)) + "_ranks";
                         });

TEST(RunThreadRanks, GivesEveryRankItsPlace) {
  std::atomic<int> seen = 0;
  run_thread_ranks(5, [&](Communicator& comm) {
    EXPECT_EQ(comm.size(), 5);
    seen += 1 << comm.rank().value;
  });
  EXPECT_EQ(seen, 0b11111);
}

TEST(RunThreadRanks, RethrowsTheFirstErrorAndStopsTheOthers) {
  std::atomic<int> stopped = 0;
  try {
    run_thread_ranks(4, [&](Communicator& comm) {
      if (comm.rank() == Rank(2)) throw std::domain_error("rank 2 divided by zero");
      try {
        comm.wait(comm.barrier());
      } catch (const PeerFailure& failure) {
        EXPECT_EQ(failure.rank(), Rank(2));
        EXPECT_STREQ(failure.what(), "rank 2 failed: rank 2 divided by zero");
        ++stopped;
        throw;
      }
    });
    FAIL() << "the error was lost";
  } catch (const std::domain_error& error) {
    EXPECT_STREQ(error.what(), "rank 2 divided by zero");
  }
  EXPECT_EQ(stopped, 3);
}

TEST(RunThreadRanks, AnErrorReachesSleepersThatDriveNoWork) {
  EXPECT_THROW(run_thread_ranks(2,
                                [](Communicator& comm) {
                                  if (comm.rank() == Rank(0)) throw std::domain_error("gone");
                                  for (;;) comm.sleep(comm.events());
                                }),
               std::domain_error);
}

TEST(Collectives, RanksThatStartDifferentOnesAreAllTold) {
  std::atomic<int> told = 0;
  const auto run = [&](auto start, std::vector<std::string> words) {
    told = 0;
    run_thread_ranks(3, [&](Communicator& comm) {
      try {
        start(comm);
      } catch (const std::logic_error& error) {
        for (const std::string& word : words) EXPECT_THAT(error.what(), testing::HasSubstr(word));
        ++told;
      }
    });
    EXPECT_EQ(told, 3);
  };
  double data[8] = {};
  run(
      [&](Communicator& comm) {
        comm.wait(comm.rank() == Rank(1) ? comm.barrier() : comm.all_reduce({data, 64, ElementType::f64}));
      },
      {"barrier", "all_reduce of 64 bytes of f64"});
  run(
      [&](Communicator& comm) {
        comm.wait(comm.all_reduce({data, comm.rank() == Rank(2) ? 32 : 64, ElementType::f32}));
      },
      {"32 bytes", "64 bytes"});
  run(
      [&](Communicator& comm) {
        comm.wait(comm.all_reduce({data, 64, comm.rank() == Rank(0) ? ElementType::f32 : ElementType::f64}));
      },
      {"f32", "f64"});
  run([&](Communicator& comm) { comm.allocate(100 + comm.rank().value); }, {"allocate of 100 bytes"});
}

TEST(Collectives, MembersThatStartDifferentOnesAreToldTheGroup) {
  std::atomic<int> told = 0;
  run_thread_ranks({4, {{Rank(0), Rank(2)}, {Rank(1), Rank(3)}}}, [&](Communicator& comm) {
    float data[16] = {};
    const CommGroupId group(1 + comm.rank().value % 2);
    const std::int64_t bytes = comm.rank() == Rank(3) ? 32 : 64;
    try {
      comm.wait(comm.all_reduce({data, bytes, ElementType::f32}, group));
      EXPECT_EQ(group, CommGroupId(1));
    } catch (const std::logic_error& error) {
      EXPECT_EQ(group, CommGroupId(2));
      for (const std::string word : {"group 2", "rank 1", "rank 3", "32 bytes", "64 bytes"}) {
        EXPECT_THAT(error.what(), testing::HasSubstr(word));
      }
      ++told;
    }
  });
  EXPECT_EQ(told, 2);
}

TEST(Allocate, BeyondTheReserveIsAnEnvironmentError) {
  run_thread_ranks(2, [](Communicator& comm) {
    try {
      comm.allocate(std::int64_t{1} << 50);
      ADD_FAILURE() << "a petabyte";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::environment);
    }
  });
}

}  // namespace
}  // namespace parabench::comm
