#include "parallelism/comm/cuda/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "parallelism/comm/cuda/gpu_of.h"

namespace parabench::comm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void expect_refused(int local_rank, int local_ranks, int visible, const testing::Matcher<std::string>& words,
                    bool sharing = false) {
  try {
    gpu_of(local_rank, local_ranks, visible, false, sharing);
    ADD_FAILURE() << "rank " << local_rank << " got a GPU";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
    EXPECT_THAT(std::string(error.what()), words);
  }
}

TEST(GpuOf, IsTheRanksOwnWhereThereAreEnough) {
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(gpu_of(rank, 4, 4, false, false), rank);
    EXPECT_EQ(gpu_of(rank, 4, 8, false, true), rank);
  }
}

TEST(GpuOf, IsTheOnlyOneWhereASchedulerShowsEachTaskItsOwn) {
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(gpu_of(rank, 4, 1, true, false), 0);
}

TEST(GpuOf, TakesTurnsWhereRanksMayShare) {
  EXPECT_EQ(gpu_of(3, 4, 1, false, true), 0);
  EXPECT_EQ(gpu_of(0, 4, 2, false, true), 0);
  EXPECT_EQ(gpu_of(3, 4, 2, false, true), 1);
}

TEST(GpuOf, RefusesToShareUnasked) {
  expect_refused(1, 4, 1, AllOf(HasSubstr("1 visible for 4 ranks"), HasSubstr("comm:mpi"), HasSubstr("comm:threads")));
  // Several GPUs that are each task's own, but fewer than ranks: whose is whose nobody can tell.
  expect_refused(1, 4, 2, HasSubstr("--gpu-bind=none"));
}

TEST(GpuOf, NeedsAtLeastOne) {
  expect_refused(0, 1, 0, HasSubstr("nvidia-smi"));
  expect_refused(0, 2, 0, HasSubstr("no visible GPU"), true);
}

TEST(LookForGpus, HasGpusOrAnObstacleWithWhatToTry) {
  const GpuReport report = look_for_gpus();
  EXPECT_EQ(report.gpus.empty(), !report.obstacle.empty());
  EXPECT_EQ(report.runtime.empty(), report.nccl.empty());
  const bool without_cuda = report.runtime.empty();
  if (!report.obstacle.empty()) {
    EXPECT_THAT(report.obstacle, HasSubstr(without_cuda ? "PARABENCH_PRESET=cuda" : "nvidia-smi"));
  }
  for (const Gpu& gpu : report.gpus) {
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_EQ(gpu.uuid.size(), 40u) << gpu.uuid;
    EXPECT_GE(gpu.capability, 50);
    EXPECT_GT(gpu.memory_bytes, std::int64_t{1} << 28);
    EXPECT_LE(gpu.free_bytes, gpu.memory_bytes);
  }
}

}  // namespace
}  // namespace parabench::comm
