// The conformance suite on processes under mpirun, through shared memory and through MPI alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>

#include "base/error.h"
#include "parallelism/comm/mpi/world.h"
#include "tests/parallelism/comm/conformance.h"

namespace parabench::comm {
namespace {

const MpiSession* session = nullptr;

class MpiRanks : public testing::TestWithParam<std::tuple<bool, ConformanceCase>> {};

TEST_P(MpiRanks, conform) {
  const auto& [shared, expectation] = GetParam();
  const auto comm =
      make_mpi_communicator(*session, conformance_arena_bytes, conformance_groups(session->size()), shared);
  ASSERT_EQ(comm->capabilities().shared_arenas, shared) << comm->capabilities().note;
  ASSERT_EQ(comm->capabilities().note.empty(), shared);
  try {
    expectation.run(*comm);
  } catch (const std::exception& error) {
    comm->abort(error.what());
    FAIL() << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(all, MpiRanks,
                         testing::Combine(testing::Bool(),
                                          testing::ValuesIn(conformance_cases().begin(), conformance_cases().end())),
                         [](const auto& instance) {
                           return std::string(std::get<1>(instance.param).name) +
                                  (std::get<0>(instance.param) ? "_shared" : "_private");
                         });

TEST(MakeMpiCommunicator, FallsBackWithANoteWhenSharedMemoryIsTooSmall) {
  const auto comm = make_mpi_communicator(*session, std::int64_t{1} << 44);
  EXPECT_FALSE(comm->capabilities().shared_arenas);
  EXPECT_THAT(comm->capabilities().note, testing::HasSubstr("the ranks need"));
  const Arena arena = comm->allocate(4096);
  EXPECT_FALSE(arena.shared);
  comm->wait(comm->all_reduce({arena.data, 4096, ElementType::f32}));
}

TEST(MakeMpiCommunicator, ObeysTheEnvironment) {
  setenv("PARABENCH_SHARED_MEMORY", "off", 1);
  EXPECT_FALSE(make_mpi_communicator(*session, 4096)->capabilities().shared_arenas);
  setenv("PARABENCH_SHARED_MEMORY", "on", 1);
  EXPECT_TRUE(make_mpi_communicator(*session, 4096)->capabilities().shared_arenas);
  setenv("PARABENCH_SHARED_MEMORY", "perhaps", 1);
  EXPECT_THROW(make_mpi_communicator(*session, 4096), Error);
  unsetenv("PARABENCH_SHARED_MEMORY");
}

TEST(MakeMpiCommunicator, RefusesGroupsThatDifferBetweenRanks) {
  const Rank mine(session->rank() == Rank(0) ? 0 : 1);
  try {
    make_mpi_communicator(*session, 4096, {{mine}});
    ADD_FAILURE() << "ranks disagree";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), testing::HasSubstr("{0}, as on rank 0"));
  }
}

TEST(MakeMpiCommunicator, LeavesNoNameInSharedMemory) {
  const auto comm = make_mpi_communicator(*session, 4096);
  // Other tests may be starting; only this launch's name holds its own pid.
  for (const std::string& pid : all_gather(*comm, std::to_string(getpid()))) {
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      EXPECT_FALSE(entry.path().filename().string().starts_with("parabench-" + pid + "-")) << entry.path();
    }
  }
}

TEST(MpiSession, NamesTheLibraryInOneLine) {
  EXPECT_FALSE(MpiSession::library_version().empty());
  EXPECT_EQ(MpiSession::library_version().find('\n'), std::string::npos);
}

/// Only failures, with the rank: one rank's full report is enough.
class FailurePrinter : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", session->rank().value, result.file_name(), result.line_number(),
                 result.message());
  }
};

}  // namespace
}  // namespace parabench::comm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  parabench::comm::MpiSession session(&argc, &argv);
  parabench::comm::session = &session;
  if (session.rank() != parabench::Rank(0)) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new parabench::comm::FailurePrinter);
  }
  return RUN_ALL_TESTS();
}
