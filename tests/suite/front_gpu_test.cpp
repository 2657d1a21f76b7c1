// Cases on GPUs where there are some, too few, or none.
#include <gmock/gmock.h>

#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string cuda = "/device:cuda";

class GpuTest : public FrontTest {
 protected:
  /// Runs one named case and gives its record.
  nlohmann::json record(const std::string& id) {
    outcome_ = run({"run", id, "--json", "results.json"});
    EXPECT_EQ(run({"validate", "results.json"}).code, 0);
    return results()["records"].at(0);
  }
  void expect_skipped(const std::string& id, const testing::Matcher<std::string>& reason) {
    const auto skipped = record(id);
    EXPECT_EQ(outcome_.code, 4) << id;
    EXPECT_THAT(outcome_.err, Not(HasSubstr("Failed to match"))) << "Google Benchmark has nothing to do";
    EXPECT_EQ(skipped["status"], "skipped") << id;
    EXPECT_THAT(skipped["reason"].get<std::string>(), reason) << id;
    EXPECT_EQ(count_launches("measure"), 0) << id;
  }
  Outcome outcome_;
};

TEST_F(GpuTest, ABuildForProcessorsSaysWhichOneToBuild) {
  expect_skipped(sequential + cuda, AllOf(HasSubstr("device:cuda"), HasSubstr("PARABENCH_PRESET=cuda")));
  const Outcome impossible = run({"run", gpipe + "/comm:nccl"});
  EXPECT_EQ(impossible.code, 2) << "of no build";
  EXPECT_THAT(impossible.err, HasSubstr("comm: got 'nccl', expected mpi or threads where the device is not cuda"));
}

TEST_F(GpuTest, WithoutADriverTheReasonIsTheProbes) {
  set("FAKE_GPUS", "0");
  expect_skipped(sequential + cuda, AllOf(HasSubstr("device:cuda"), HasSubstr("install the NVIDIA driver")));
  EXPECT_TRUE(results()["context"]["gpus"].empty());
}

TEST_F(GpuTest, ABuildWithoutMpiSaysSoAndRunsWhatNeedsNone) {
  std::filesystem::remove(path("bin/mpirun"));
  set("PATH", path("bin"));
  set("FAKE_MPI", "0");
  set("FAKE_GPUS", "2");
  expect_skipped(gpipe, HasSubstr("comm:mpi: this build has no MPI"));
  for (const auto& id : {sequential, gpipe + "/comm:threads", gpipe + cuda})
    EXPECT_EQ(record(id)["status"], "ok") << outcome_.err;
  EXPECT_EQ(results()["context"]["launcher"], "local");
  EXPECT_THAT(run({"run", gpipe + cuda, "--dry-run"}).out, AllOf(HasSubstr("--one-process"), Not(HasSubstr("mpirun"))));
}

TEST_F(GpuTest, AnAsynchronousWindowHoldsTheStepsThatAGraphDiscards) {
  const std::string id = "resnet18/cifar10-synthetic/pipedream/np:1/batch:4/device:cuda/graph:on";
  const Outcome written = run({"plan", id, "--format", "json", "--warmup", "0", "--steps", "20"});
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(nlohmann::json::parse(written.out)["steps"], 24);
}

TEST_F(GpuTest, RanksOfNcclAreThreadsWhereTheLauncherStartsOneProcess) {
  set("FAKE_GPUS", "2");
  EXPECT_EQ(run({"run", gpipe + cuda, "--launcher", "local"}).code, 0);
  EXPECT_THAT(launches().back(), HasSubstr("--one-process"));
  EXPECT_EQ(run({"run", gpipe + cuda}).code, 0);
  EXPECT_THAT(launches().back(), Not(HasSubstr("--one-process")));
}

TEST_F(GpuTest, SkippedByAFilterIsNoError) {
  const std::string filter = "resnet18/mnist-synthetic/sequential/np:1/batch:128";
  const Outcome outcome = run({"run", "--filter", filter + ".*", "--json", "results.json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto records = results()["records"];
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["status"], "ok");
  EXPECT_EQ(records[1]["id"], filter + cuda);
  EXPECT_EQ(records[1]["status"], "skipped");
}

TEST_F(GpuTest, CasesRunAndTheFileNamesTheGpus) {
  set("FAKE_GPUS", "2");
  for (const auto& id : {sequential + cuda, gpipe + cuda}) {
    EXPECT_EQ(record(id)["status"], "ok") << outcome_.err;
    EXPECT_EQ(outcome_.code, 0);
  }
  const auto gpus = results()["context"]["gpus"];
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(
      gpus[1],
      (nlohmann::json{{"name", "NVIDIA H100"}, {"uuid", "GPU-1"}, {"capability", 90}, {"memory_bytes", 80LL << 30}}));
}

TEST_F(GpuTest, MoreRanksThanGpusAreOfferedCommunicatorsThatShareThem) {
  set("FAKE_GPUS", "1");
  expect_skipped(gpipe + cuda, AllOf(HasSubstr("2 ranks, 1 GPU"), HasSubstr("comm:mpi"), HasSubstr("comm:threads")));
  EXPECT_EQ(record(gpipe + cuda + "/comm:mpi")["status"], "ok") << outcome_.err;
  EXPECT_EQ(record(gpipe + cuda + "/comm:threads")["status"], "ok") << outcome_.err;
}

TEST_F(GpuTest, RanksOfOtherHostsHaveGpusOfTheirOwn) {
  set("FAKE_GPUS", "1");
  set("SLURM_JOB_ID", "1");
  set("SLURM_JOB_NODELIST", "n[1-2]");
  EXPECT_EQ(record(gpipe + cuda)["status"], "ok") << outcome_.err;
}

TEST_F(GpuTest, ABrokenNcclLeavesTheOtherCommunicators) {
  set("FAKE_GPUS", "2");
  set("FAKE_NCCL", "unhandled system error");
  expect_skipped(gpipe + cuda, AllOf(HasSubstr("comm:nccl"), HasSubstr("unhandled system error")));
  EXPECT_EQ(record(sequential + cuda)["status"], "ok") << outcome_.err;
  EXPECT_EQ(record(gpipe + cuda + "/comm:threads")["status"], "ok") << outcome_.err;
}

TEST_F(GpuTest, WhatWouldExceedAGpusMemoryIsSkippedUnlessForced) {
  set("FAKE_GPUS", "2");
  const std::string huge = "resnet50/imagenet-synthetic/data-parallel/np:2/batch:4000/device:cuda";
  expect_skipped(huge, AllOf(HasSubstr("GPU 0 has 80.0 GiB"), HasSubstr("--force")));
  EXPECT_EQ(run({"run", huge, "--force", "--verify", "off"}).code, 0);
}

TEST_F(GpuTest, OutOfMemoryIsAFailedRecordAndTheSuiteGoesOn) {
  set("FAKE_GPUS", "2");
  set("FAKE_RANK", "gpipe|measure|out_of_memory|0");
  const Outcome outcome = run({"run", gpipe + cuda, sequential + cuda, "--json", "results.json"});
  EXPECT_NE(outcome.code, 0);
  const auto records = results()["records"];
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["status"], "failed");
  EXPECT_THAT(records[0]["reason"].get<std::string>(),
              AllOf(HasSubstr("predicted 91.3 GiB"), HasSubstr("available 79.1 GiB")));
  EXPECT_EQ(records[1]["status"], "ok");
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);
}

TEST_F(GpuTest, OtherGpusInSightAreProbedAnew) {
  set("FAKE_GPUS", "1");
  set("CUDA_VISIBLE_DEVICES", "0");
  EXPECT_EQ(record(sequential + cuda)["status"], "ok") << outcome_.err;
  set("FAKE_GPUS", "0");
  set("CUDA_VISIBLE_DEVICES", "");
  EXPECT_EQ(record(sequential + cuda)["status"], "skipped");
  EXPECT_EQ(count_launches("probe"), 2);
}

TEST_F(GpuTest, PredictionsKnowTheGpusOfTheLastProbe) {
  set("FAKE_GPUS", "1");
  ASSERT_EQ(run({"doctor", "--noise", "0"}).code, 0);
  EXPECT_THAT(run({"predict", sequential + cuda}).out, HasSubstr("data sheet of H100"));
}

}  // namespace
}  // namespace parabench::suite
