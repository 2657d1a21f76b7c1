// Launches that go wrong: they end soon, with the cause named, and leave nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <thread>

#include "base/error.h"
#include "parallelism/comm/mpi/world_size.h"

namespace parabench::comm {
namespace {

using testing::HasSubstr;

struct Launch {
  std::string output;
  int code = 0;
  double seconds = 0;
};

Launch launch(const std::string& command) {
  const auto begin = std::chrono::steady_clock::now();
  Launch result;
  std::FILE* pipe = popen(("timeout -k 1 30 " + command + " 2>&1 </dev/null").c_str(), "r");
  std::array<char, 4096> part;
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe)) result.output.append(part.data(), n);
  result.code = WEXITSTATUS(pclose(pipe));
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

const std::string program = FAILING_RANKS;
const std::string mpirun = std::string(MPIRUN) + " --bind-to none ";

class FailingLaunch : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    setenv("PARABENCH_SHARED_MEMORY", GetParam(), 1);
  }
};
INSTANTIATE_TEST_SUITE_P(shared_memory, FailingLaunch, testing::Values("on", "off"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(FailingLaunch, AKilledRankIsNamedWithinTenSecondsWithoutTheLaunchersHelp) {
  // Recovery: mpirun leaves the other ranks alone.
  const Launch result = launch(mpirun + "--enable-recovery -np 3 " + program + " killed");
  for (const char* rank : {"rank 0", "rank 2"}) {
    EXPECT_THAT(result.output, HasSubstr(std::string(rank) + ": rank 1 failed: its process ")) << rank;
  }
  EXPECT_THAT(result.output, HasSubstr("has ended unexpectedly"));
  EXPECT_LT(result.seconds, 10);
}

TEST_P(FailingLaunch, ARankKilledWhileItsGroupReducesIsNamedToTheOthersToo) {
  const Launch result = launch(mpirun + "--enable-recovery -np 3 " + program + " killed-in-group");
  for (const char* rank : {"rank 0", "rank 2"}) {
    EXPECT_THAT(result.output, HasSubstr(std::string(rank) + ": rank 1 failed: its process ")) << rank;
  }
  EXPECT_LT(result.seconds, 10);
}

TEST_P(FailingLaunch, AKilledRankEndsTheLaunchWithAnError) {
  const Launch result = launch(mpirun + "-np 3 " + program + " killed");
  EXPECT_NE(result.code, 0);
  EXPECT_LT(result.seconds, 10);
}

TEST_P(FailingLaunch, AnExceptionThatUnwindsTheSessionDoesNotHang) {
  const Launch result = launch(mpirun + "-np 3 " + program + " thrown");
  EXPECT_NE(result.code, 0);
  EXPECT_LT(result.seconds, 10);
}

std::set<std::string> in_shared_memory() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) names.insert(entry.path().filename());
  return names;
}

TEST_P(FailingLaunch, NothingStaysInSharedMemoryWhenTheLauncherIsKilledToo) {
  const std::set<std::string> before = in_shared_memory();
  const Launch result = launch(mpirun + "-np 3 " + program + " all-killed");
  EXPECT_NE(result.code, 0);
  // Names that come and go are those of other tests.
  std::set<std::string> left;
  for (int tries = 0; tries < 20; ++tries) {
    const std::set<std::string> now = in_shared_memory();
    left.clear();
    std::set_difference(now.begin(), now.end(), before.begin(), before.end(), std::inserter(left, left.end()));
    if (left.empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  EXPECT_THAT(left, testing::IsEmpty());
}

TEST(Singleton, IsRefusedWhenTheLauncherPromisedMore) {
  const Launch result = launch("env -u OMPI_COMM_WORLD_SIZE SLURM_NTASKS=2 " + program + " alone");
  EXPECT_EQ(result.code, static_cast<int>(ExitCode::environment));
  EXPECT_THAT(result.output, HasSubstr("SLURM_NTASKS"));
  EXPECT_THAT(result.output, HasSubstr("srun --mpi=pmix"));
  EXPECT_THAT(result.output, HasSubstr("mpirun"));
}

TEST(Singleton, OfSeveralTasksThatNobodyIntroducedIsRefusedBeforeMpiStarts) {
  const Launch result =
      launch("env -u OMPI_COMM_WORLD_SIZE SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 " + program + " alone");
  EXPECT_EQ(result.code, static_cast<int>(ExitCode::environment));
  EXPECT_THAT(result.output, HasSubstr("SLURM_STEP_NUM_TASKS"));
  EXPECT_THAT(result.output, HasSubstr("srun --mpi=pmix"));
}

TEST(Singleton, IsFineWhenNobodyPromisedMore) {
  const Launch result = launch("env -u OMPI_COMM_WORLD_SIZE -u SLURM_NTASKS " + program + " alone");
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("rank 0: nobody failed"));
}

TEST(CheckIntroduced, BelievesAnyoneWhoIntroducesTasks) {
  setenv("SLURM_STEP_NUM_TASKS", "2", 1);
  EXPECT_NO_THROW(check_introduced());  // a batch script is no task
  setenv("SLURM_PROCID", "1", 1);
  EXPECT_THROW(check_introduced(), Error);
  for (const char* variable : {"PMIX_RANK", "PMI_FD", "OMPI_COMM_WORLD_SIZE"}) {
    setenv(variable, "1", 1);
    EXPECT_NO_THROW(check_introduced()) << variable;
    unsetenv(variable);
  }
  setenv("SLURM_STEP_NUM_TASKS", "1", 1);
  EXPECT_NO_THROW(check_introduced());
  unsetenv("SLURM_STEP_NUM_TASKS");
  unsetenv("SLURM_PROCID");
}

TEST(CheckWorldSize, BelievesTheInnermostLauncher) {
  setenv("SLURM_NTASKS", "4", 1);
  EXPECT_THROW(check_world_size(1), Error);
  EXPECT_NO_THROW(check_world_size(4));
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);  // mpirun -np 1 inside an allocation of four
  EXPECT_NO_THROW(check_world_size(1));
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  EXPECT_THROW(check_world_size(1), Error);
  unsetenv("OMPI_COMM_WORLD_SIZE");
  unsetenv("SLURM_NTASKS");
  EXPECT_NO_THROW(check_world_size(1));
}

}  // namespace
}  // namespace parabench::comm
