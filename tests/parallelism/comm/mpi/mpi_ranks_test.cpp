// The conformance suite on processes under mpirun, through shared memory and through MPI alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/case_text.h"
#include "base/error.h"
#include "parallelism/comm/algorithms/choice.h"
#include "parallelism/comm/mpi/world.h"
#include "tests/parallelism/comm/conformance.h"

namespace parabench::comm {
namespace {

const MpiSession* session = nullptr;

/// How ranks are to talk: through shared memory, or not, and then by which algorithm.
struct Way {
  bool shared;
  ReduceKind reduce;
};

class MpiRanks : public testing::TestWithParam<std::tuple<Way, ConformanceCase>> {};

TEST_P(MpiRanks, conform) {
  const auto& [way, expectation] = GetParam();
  const auto comm = make_mpi_communicator(*session, conformance_arena_bytes, conformance_groups(session->size()),
                                          way.shared, way.reduce);
  ASSERT_EQ(comm->capabilities().shared_arenas, way.shared) << comm->capabilities().note;
  ASSERT_EQ(comm->capabilities().note.empty(), way.shared);
  try {
    expectation.run(*comm);
  } catch (const std::exception& error) {
    comm->abort(error.what());
    FAIL() << error.what();
  }
}

std::string test_name(const testing::TestParamInfo<std::tuple<Way, ConformanceCase>>& instance) {
  const auto& [way, expectation] = instance.param;
  std::string name(expectation.name);
  name += way.shared ? "_shared" : "_private";
  if (way.reduce != ReduceKind::automatic) (name += "_") += to_text(way.reduce);
  std::ranges::replace(name, '-', '_');
  return name;
}

constexpr Way usual_ways[] = {{true, ReduceKind::automatic}, {false, ReduceKind::automatic}};
INSTANTIATE_TEST_SUITE_P(all, MpiRanks,
                         testing::Combine(testing::ValuesIn(usual_ways),
                                          testing::ValuesIn(conformance_cases().begin(), conformance_cases().end())),
                         test_name);

// They differ in collectives alone.
constexpr Way chosen_ways[] = {{false, ReduceKind::library},
                               {false, ReduceKind::ring},
                               {false, ReduceKind::halving_doubling},
                               {false, ReduceKind::double_tree},
                               {false, ReduceKind::hierarchical}};
INSTANTIATE_TEST_SUITE_P(algorithms, MpiRanks,
                         testing::Combine(testing::ValuesIn(chosen_ways),
                                          testing::ValuesIn(collective_cases().begin(), collective_cases().end())),
                         test_name);

TEST(MakeMpiCommunicator, SaysWhatCarriesOutSums) {
  const auto reduction = [](bool shared, ReduceKind reduce) {
    return make_mpi_communicator(*session, 4096, {}, shared, reduce)->capabilities().reduction;
  };
  for (const ReduceKind reduce : {ReduceKind::automatic, ReduceKind::window, ReduceKind::hierarchical})
    EXPECT_EQ(reduction(true, reduce), "window");
  for (const ReduceKind reduce :
       {ReduceKind::ring, ReduceKind::halving_doubling, ReduceKind::double_tree, ReduceKind::library}) {
    EXPECT_EQ(reduction(true, reduce), to_text(reduce));
    EXPECT_EQ(reduction(false, reduce), to_text(reduce));
  }
  EXPECT_EQ(reduction(false, ReduceKind::automatic),
            reduction_text(ReduceKind::automatic, std::vector<int>(session->size())));
}

TEST(MakeMpiCommunicator, RefusesAWindowWhereMemoryIsNotShared) {
  try {
    make_mpi_communicator(*session, 4096, {}, false, ReduceKind::window);
    ADD_FAILURE() << "no window";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
    EXPECT_THAT(error.what(), testing::HasSubstr("shared memory is switched off"));
    EXPECT_THAT(error.what(), testing::HasSubstr("reduce:auto"));
  }
}

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
