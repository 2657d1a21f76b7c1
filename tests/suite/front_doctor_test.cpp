// The command doctor on machines that lack one thing or another.
#include <fstream>

#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DoctorCommandTest : public FrontTest {
 protected:
  DoctorCommandTest() {
    tool("nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'");
    tool("ompi_info", "echo mca:mpi:base:param:mpi_built_with_cuda_support:value:false");
  }
  void tool(const std::string& name, const std::string& body) {
    std::ofstream(path("bin/" + name)) << "#!/bin/sh\n" << body << '\n';
    std::filesystem::permissions(path("bin/" + name), std::filesystem::perms::owner_all);
  }
  nlohmann::json diagnose(std::vector<std::string> words = {}) {
    words.insert(words.begin(), {"doctor", "--json", "--noise", "0"});
    outcome_ = run(words);
    return nlohmann::json::parse(outcome_.out);
  }
  static nlohmann::json check(const nlohmann::json& diagnosis, const std::string& name) {
    for (const auto& one : diagnosis["checks"]) {
      if (one["name"] == name) return one;
    }
    return {{"status", "no such check"}, {"found", ""}};
  }
  Outcome outcome_;
};

TEST_F(DoctorCommandTest, AMachineWithoutGpuIsFineForCasesOnCpu) {
  const auto diagnosis = diagnose();
  EXPECT_EQ(outcome_.code, 0) << outcome_.err;
  EXPECT_EQ(diagnosis["runs"], (nlohmann::json{{"cpu", true}, {"cuda", false}}));
  EXPECT_EQ(check(diagnosis, "host")["status"], "ok");
  EXPECT_EQ(check(diagnosis, "calibration")["status"], "warning");
  EXPECT_EQ(check(diagnosis, "calibration")["advice"], "parabench calibrate");
  EXPECT_THAT(check(diagnosis, "rank program")["found"].get<std::string>(), HasSubstr("LibTorch fake"));
  EXPECT_THAT(check(diagnosis, "launcher")["found"].get<std::string>(), HasSubstr("mpirun (Fake MPI) 1.0"));
  EXPECT_EQ(check(diagnosis, "two ranks")["status"], "ok");
  EXPECT_EQ(check(diagnosis, "CUDA build")["status"], "missing");
  EXPECT_THAT(check(diagnosis, "MPI and CUDA")["found"].get<std::string>(), HasSubstr("does not know GPU memory"));
  EXPECT_EQ(count_launches("probe"), 1);
  EXPECT_EQ(count_launches("measure"), 1);
  EXPECT_EQ(left_running(), 0);
}

TEST_F(DoctorCommandTest, MeasuresNoiseAndEstimatesRunTimes) {
  const Outcome outcome = run({"doctor", "--json", "--noise", "300ms"});
  const auto diagnosis = nlohmann::json::parse(outcome.out);
  EXPECT_THAT(check(diagnosis, "noise")["found"].get<std::string>(), HasSubstr("launches of the same steps"));
  EXPECT_GE(count_launches("measure"), 1 + 3);
  EXPECT_THAT(check(diagnosis, "run time")["found"].get<std::string>(),
              AllOf(HasSubstr("quick"), HasSubstr("(5 of 5 cases run here)"), HasSubstr("gpu 0 s")));
  EXPECT_EQ(check(diagnosis, "cores")["name"], "cores");
  EXPECT_EQ(check(diagnosis, "disk")["name"], "disk");
}

TEST_F(DoctorCommandTest, AMachineWithGpusListsThem) {
  set("FAKE_GPUS", "2");
  const auto diagnosis = diagnose();
  EXPECT_EQ(outcome_.code, 0);
  EXPECT_EQ(diagnosis["runs"]["cuda"], true);
  ASSERT_EQ(diagnosis["gpus"].size(), 2u);
  EXPECT_EQ(diagnosis["gpus"][1]["uuid"], "GPU-1");
  for (const char* name : {"CUDA build", "CUDA driver", "CUDA toolkit", "GPU 0", "GPU 1", "cuDNN", "NCCL"}) {
    EXPECT_EQ(check(diagnosis, name)["status"], "ok") << name;
  }
}

TEST_F(DoctorCommandTest, ABuildForGpusWithoutADriverStillRunsCasesOnCpu) {
  set("FAKE_GPUS", "0");
  const auto diagnosis = diagnose();
  EXPECT_EQ(outcome_.code, 0);
  EXPECT_EQ(diagnosis["runs"], (nlohmann::json{{"cpu", true}, {"cuda", false}}));
  EXPECT_EQ(check(diagnosis, "CUDA driver")["status"], "missing");
  EXPECT_THAT(check(diagnosis, "GPUs")["found"].get<std::string>(), HasSubstr("install the NVIDIA driver"));
}

TEST_F(DoctorCommandTest, TextNamesStatusFindingAndAdvice) {
  ASSERT_EQ(run({"calibrate", gpipe}).code, 0);
  const Outcome outcome = run({"doctor", "--noise", "0"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("ok       calibration "), HasSubstr("missing  CUDA build "),
                    HasSubstr("\n                         try: PARABENCH_PRESET=cuda ./parabench doctor\n"),
                    HasSubstr("cases on cpu: run here; cases on cuda: are skipped here")));
}

TEST_F(DoctorCommandTest, RanksThatCannotTrainTogetherAreTheEnvironmentsFault) {
  set("FAKE_RANK", "data-parallel|measure|failure|1");
  const auto diagnosis = diagnose();
  EXPECT_EQ(outcome_.code, 4);
  EXPECT_EQ(diagnosis["runs"]["cpu"], false);
  EXPECT_EQ(check(diagnosis, "two ranks")["status"], "missing");
  EXPECT_THAT(check(diagnosis, "two ranks")["found"].get<std::string>(), HasSubstr("rank 1: told to fail"));
}

TEST_F(DoctorCommandTest, WithoutALauncherThreadsAreOffered) {
  std::filesystem::remove(path("bin/mpirun"));
  set("PATH", path("bin"));
  const auto diagnosis = diagnose();
  EXPECT_EQ(outcome_.code, 4);
  EXPECT_THAT(check(diagnosis, "launcher")["found"].get<std::string>(), HasSubstr("openmpi-bin"));
  const auto threads = diagnose({"--launcher", "local"});
  EXPECT_EQ(outcome_.code, 0);
  EXPECT_THAT(check(threads, "two ranks")["found"].get<std::string>(), HasSubstr("as threads"));
}

TEST_F(DoctorCommandTest, ABuildWithoutMpiNeedsNoLauncher) {
  std::filesystem::remove(path("bin/mpirun"));
  set("PATH", path("bin"));
  set("FAKE_MPI", "0");
  const auto diagnosis = diagnose();
  EXPECT_EQ(outcome_.code, 0) << outcome_.err;
  EXPECT_THAT(check(diagnosis, "launcher")["found"].get<std::string>(), HasSubstr("threads of one process"));
}

TEST_F(DoctorCommandTest, WithoutARankProgramTheRestIsStillChecked) {
  without_rank_program();
  const auto diagnosis = diagnose();
  EXPECT_EQ(outcome_.code, 4);
  EXPECT_THAT(check(diagnosis, "rank program")["found"].get<std::string>(), HasSubstr("not built here"));
  EXPECT_EQ(check(diagnosis, "rank program")["advice"], "PARABENCH_PRESET=default ./parabench doctor");
  EXPECT_EQ(check(diagnosis, "launcher")["status"], "ok");
  EXPECT_EQ(check(diagnosis, "CUDA toolkit")["status"], "ok");
}

TEST_F(DoctorCommandTest, ARankProgramThatIsNotThereIsNamed) {
  set("PARABENCH_RANK", path("nowhere"));
  EXPECT_THAT(check(diagnose(), "rank program")["found"].get<std::string>(),
              HasSubstr("got '" + path("nowhere").string()));
  EXPECT_EQ(outcome_.code, 4);
}

TEST_F(DoctorCommandTest, ABrokenCalibrationIsNamed) {
  ASSERT_EQ(run({"calibrate", gpipe}).code, 0);
  const auto file = analytic::default_calibration_path(analytic::this_machine());
  std::ofstream(path("cache/parabench") / std::filesystem::path(file).filename()) << "{";
  const auto found = check(diagnose(), "calibration");
  EXPECT_EQ(outcome_.code, 0);
  EXPECT_EQ(found["status"], "missing");
  EXPECT_THAT(found["found"].get<std::string>(), HasSubstr("delete it to measure anew"));
}

TEST_F(DoctorCommandTest, ProbesAnewAndLaterRunsTakeItsFindings) {
  set("FAKE_GPUS", "0");
  ASSERT_EQ(diagnose()["gpus"].size(), 0u);
  set("FAKE_GPUS", "1");
  ASSERT_EQ(diagnose()["gpus"].size(), 1u);
  EXPECT_EQ(count_launches("probe"), 2);
  EXPECT_EQ(run({"run", small + "sequential/np:1/batch:8/device:cuda"}).code, 0);
  EXPECT_EQ(count_launches("probe"), 2);
}

TEST_F(DoctorCommandTest, IsNoRankItself) {
  set("OMPI_COMM_WORLD_RANK", "0");
  const auto diagnosis = diagnose();
  EXPECT_EQ(outcome_.code, 4);
  EXPECT_THAT(check(diagnosis, "launcher")["found"].get<std::string>(), HasSubstr("OMPI_COMM_WORLD_RANK"));
  EXPECT_THAT(outcome_.err, Not(HasSubstr("starting two ranks")));
}

}  // namespace
}  // namespace parabench::suite
