#include "suite/machine/doctor.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const protocol::GpuProbe sound = {"13.0", "13.0", "9.19.0", "2.28.9", "ok", {{"NVIDIA H200", "GPU-1", 90, 150LL << 30}},
                                  ""};
const GpuSurroundings around = {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build",
                                "Cuda compilation tools, release 13.0, V13.0.88",
                                "mca:mpi:base:param:mpi_built_with_cuda_support:value:true"};

Check find(const std::vector<Check>& checks, const std::string& name) {
  const auto found = std::ranges::find(checks, name, &Check::name);
  return found == checks.end() ? Check{"", CheckStatus::missing, "no such check", ""} : *found;
}
Check find(const protocol::GpuProbe& probe, const std::string& name) { return find(gpu_checks(&probe, around), name); }

TEST(Doctor, ASoundMachineIsOkThroughout) {
  for (const Check& check : gpu_checks(&sound, around)) {
    EXPECT_EQ(check.status, CheckStatus::ok) << check.name;
    EXPECT_EQ(check.advice, "") << check.name;
  }
  EXPECT_THAT(find(sound, "CUDA driver").found, AllOf(HasSubstr("580.65.06"), HasSubstr("serves CUDA 13.0")));
  EXPECT_THAT(find(sound, "GPU 0").found,
              AllOf(HasSubstr("NVIDIA H200"), HasSubstr("capability 9.0"), HasSubstr("150 GiB")));
  EXPECT_THAT(find(sound, "NCCL").found, HasSubstr("2.28.9"));
  EXPECT_THAT(find(sound, "MPI and CUDA").found, HasSubstr("knows GPU memory"));
}

TEST(Doctor, ABuildWithoutCudaNeedsAnother) {
  const auto checks = gpu_checks(nullptr, around);
  EXPECT_EQ(find(checks, "CUDA build").status, CheckStatus::missing);
  EXPECT_THAT(find(checks, "CUDA build").advice, testing::StartsWith("PARABENCH_PRESET=cuda"));
  EXPECT_EQ(find(checks, "CUDA driver").status, CheckStatus::ok);
  EXPECT_EQ(find(checks, "NCCL").found, "no such check");
}

TEST(Doctor, AnEmptyMachineLacksEverythingButRuns) {
  const auto checks = gpu_checks(nullptr, {});
  for (const char* name : {"CUDA build", "CUDA driver", "CUDA toolkit"}) {
    EXPECT_EQ(find(checks, name).status, CheckStatus::missing) << name;
    EXPECT_NE(find(checks, name).advice, "") << name;
  }
  EXPECT_EQ(find(checks, "MPI and CUDA").status, CheckStatus::ok);
}

TEST(Doctor, ADriverMustServeTheBuildsVersion) {
  protocol::GpuProbe probe = sound;
  probe.driver = "12.8";
  EXPECT_EQ(find(probe, "CUDA driver").status, CheckStatus::missing);
  EXPECT_THAT(find(probe, "CUDA driver").found, HasSubstr("12.8, this build wants 13.0"));
  EXPECT_THAT(find(probe, "CUDA driver").advice, HasSubstr("CUDA 13"));
  probe.driver = "13.1";
  EXPECT_EQ(find(probe, "CUDA driver").status, CheckStatus::ok);
  probe.driver = "";
  EXPECT_EQ(find(probe, "CUDA driver").status, CheckStatus::missing);
}

TEST(Doctor, WhereNoGpuCanBeUsedTheObstacleIsNamed) {
  protocol::GpuProbe probe = sound;
  probe.gpus.clear();
  probe.obstacle = "the driver shows no GPU; see CUDA_VISIBLE_DEVICES";
  probe.nccl_init = "";
  EXPECT_EQ(find(probe, "GPUs").status, CheckStatus::missing);
  EXPECT_EQ(find(probe, "GPUs").found, probe.obstacle);
  EXPECT_EQ(find(probe, "NCCL").status, CheckStatus::warning);
}

TEST(Doctor, MissingLibrariesSayWhatToInstall) {
  protocol::GpuProbe probe = sound;
  probe.cudnn = probe.nccl = probe.nccl_init = "";
  for (const char* name : {"cuDNN", "NCCL"}) {
    EXPECT_EQ(find(probe, name).status, CheckStatus::missing) << name;
    EXPECT_THAT(find(probe, name).advice, HasSubstr("install")) << name;
  }
  probe.nccl = "2.28.9";
  probe.nccl_init = "unhandled system error";
  EXPECT_EQ(find(probe, "NCCL").status, CheckStatus::missing);
  EXPECT_THAT(find(probe, "NCCL").found, HasSubstr("unhandled system error"));
}

TEST(Doctor, AnotherToolkitIsAWarning) {
  const auto checks = gpu_checks(nullptr, {"", "Cuda compilation tools, release 12.4, V12.4.131", ""});
  EXPECT_EQ(find(checks, "CUDA toolkit").status, CheckStatus::warning);
  EXPECT_THAT(find(checks, "CUDA toolkit").found, HasSubstr("12.4"));
}

TEST(Doctor, WarnsOfLittleSharedMemoryAndOfAClockThatMoves) {
  analytic::MachineInfo machine;
  machine.shared_memory_bytes = 64LL << 20;
  machine.governor = "powersave";
  for (const char* name : {"shared memory", "clock governor"}) {
    EXPECT_EQ(find(host_checks(machine), name).status, CheckStatus::warning) << name;
    EXPECT_NE(find(host_checks(machine), name).advice, "") << name;
  }
  machine.shared_memory_bytes = 8LL << 30;
  machine.governor = "unknown";
  for (const Check& check : host_checks(machine)) EXPECT_EQ(check.status, CheckStatus::ok) << check.name;
}

}  // namespace
}  // namespace parabench::suite
