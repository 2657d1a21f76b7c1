// Runs in which every launch does what it should.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using RunTest = FrontTest;

TEST_F(RunTest, VerifiesThenMeasuresOncePerRepetition) {
  const Outcome outcome =
      run({"run", gpipe, "--repetitions", "3", "--steps", "5", "--warmup", "2", "--json", "results.json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(count_launches("probe"), 1);
  EXPECT_EQ(count_launches("calibrate"), 1);
  EXPECT_EQ(count_launches("verify"), 1);
  EXPECT_EQ(count_launches("measure"), 3);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("gpipe/np:2/batch:8"), HasSubstr("pass")));
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);

  const auto document = results();
  EXPECT_EQ(document["context"]["libtorch"], "fake");
  EXPECT_EQ(document["context"]["launcher"], "mpirun");
  EXPECT_EQ(document["context"]["argv"][1], "run");
  EXPECT_EQ(document["calibration"]["machine_id"], analytic::this_machine().id);
  const auto& record = document["records"].at(0);
  EXPECT_EQ(record["id"], gpipe);
  EXPECT_EQ(record["status"], "ok");
  EXPECT_EQ(record["equivalence"]["status"], "pass");
  EXPECT_EQ(record["equivalence"]["loss_agrees"], true);
  EXPECT_EQ(record["measured"]["step_time_s"]["samples"].size(), 3u);
  EXPECT_EQ(record["measured"]["step_time_s"]["samples"][0].size(), 5u);
  EXPECT_DOUBLE_EQ(record["measured"]["step_time_s"]["median"].get<double>(), 0.051);
  EXPECT_GT(record["measured"]["achieved_flops_per_s"], 0);
  EXPECT_EQ(record["measured"]["canary"].size(), 3u) << "one of each launch";
  EXPECT_DOUBLE_EQ(record["predicted"]["canary_matrix_product_s"].get<double>(), 1e-4) << "the calibration's";
  EXPECT_EQ(record["predicted"]["terms"][0]["cost_source"], "calibrated");
  EXPECT_TRUE(record["error"]["step_time_relative"].is_number());
  EXPECT_THAT(record["reproduce"].get<std::string>(),
              AllOf(HasSubstr("parabench run '" + gpipe), HasSubstr("--steps 5")));
}

class InterleaveTest : public FrontTest {
 protected:
  /// The ids of the launches that measured, in their order.
  std::vector<std::string> measured() const {
    std::vector<std::string> ids;
    for (const std::string& line : launches()) {
      std::istringstream words(line);
      std::string phase, id;
      if (words >> phase >> id; phase == "measure") ids.push_back(id);
    }
    return ids;
  }
};

TEST_F(InterleaveTest, LaunchesOfCasesAlternateAndMakeTheSameRecords) {
  const std::vector<std::string> words = {"run", gpipe, sequential, "--repetitions", "3", "--json"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return more;
  };
  ASSERT_EQ(run(with({"together.json"})).code, 0);
  EXPECT_THAT(measured(), testing::ElementsAre(gpipe, gpipe, gpipe, sequential, sequential, sequential));
  std::filesystem::remove(path("log"));
  const Outcome outcome = run(with({"results.json", "--interleave"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(measured(), testing::ElementsAre(gpipe, sequential, gpipe, sequential, gpipe, sequential));
  EXPECT_EQ(count_launches("verify"), 2);
  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(results()["records"][i]["measured"], results("together.json")["records"][i]["measured"]);
    EXPECT_EQ(results()["records"][i]["error"], results("together.json")["records"][i]["error"]);
  }
  EXPECT_FALSE(std::filesystem::exists(path("results.json.journal")));
}

TEST_F(InterleaveTest, CasesStopByThemselvesAndPairAfterwards) {
  const Outcome outcome = run({"run", gpipe, sequential, "--interleave", "--until-interval", "50%", "--paired",
                               "--verify", "off", "--json", "results.json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(measured().size(), 12u);
  for (const auto& record : results()["records"]) {
    EXPECT_EQ(record["measured"]["stopped_by"], "interval");
    EXPECT_EQ(record["paired"].size(), 4u);
  }
}

TEST_F(InterleaveTest, RandomInterleavingOfGoogleBenchmarkTakesEveryCaseOnceARound) {
  const std::vector<std::string> ids = {gpipe, sequential, pipedream, small + "data-parallel/np:2/batch:8"};
  std::vector<std::string> words = {"run", "--benchmark_enable_random_interleaving", "--benchmark_repetitions=3",
                                    "--benchmark_out=out.json"};
  words.insert(words.end(), ids.begin(), ids.end());
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<std::string> order = measured();
  ASSERT_EQ(order.size(), 12u);
  std::set<std::vector<std::string>> rounds;
  for (auto round = order.begin(); round != order.end(); round += 4) {
    rounds.emplace(round, round + 4);
    EXPECT_THAT(std::vector(round, round + 4), testing::UnorderedElementsAreArray(ids));
  }
  EXPECT_GT(rounds.size(), 1u) << "every round has an order of its own";
  const auto document = results("out.json")["benchmarks"];
  EXPECT_THAT(document[0]["name"].get<std::string>(), HasSubstr(gpipe)) << "reported in the order of the cases";
  EXPECT_EQ(document[0]["repetitions"], 3);
}

TEST_F(RunTest, PairedRoundsArePredictedFromTheirOwnCalibration) {
  const Outcome outcome = run({"run", gpipe, "--paired", "--json", "results.json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(count_launches("paired"), 1);
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);
  const auto record = results()["records"].at(0);
  ASSERT_EQ(record["paired"].size(), 4u);
  // The fake machine becomes slower from round to round, in what it calibrates and in its steps alike.
  const double predicted_first = record["paired"][0]["predicted_step_time_s"];
  const double predicted_last = record["paired"][3]["predicted_step_time_s"];
  EXPECT_NEAR(predicted_last / predicted_first, 2.0, 0.05);
  EXPECT_DOUBLE_EQ(record["paired"][0]["measured_step_time_s"].get<double>(), 0.05);
  EXPECT_DOUBLE_EQ(record["paired"][3]["measured_step_time_s"].get<double>(), 0.1);
  for (const std::string side : {"measured", "predicted"}) {
    double sum = 0;
    for (const auto& [name, seconds] : record["paired"][3][side + "_breakdown_s"].items()) sum += seconds.get<double>();
    EXPECT_DOUBLE_EQ(sum, record["paired"][3][side + "_step_time_s"].get<double>()) << side;
  }
  const double paired = record["error"]["paired_step_time_relative"];
  EXPECT_NEAR(paired, predicted_first / 0.05 - 1, 0.02 * predicted_first / 0.05);
  EXPECT_THAT(record["reproduce"].get<std::string>(), HasSubstr("--paired"));
  EXPECT_EQ(record["paired_canary"]["matrix_product_s"], 1e-4);
}

TEST_F(RunTest, DriftSinceTheCalibrationIsTakenOutByWhatOtherCasesSay) {
  set("FAKE_RANK", "batch:16|measure|drifted|0;batch:24|measure|drifted|0");
  std::vector<std::string> words = {"run", "--json", "results.json"};
  for (const char* batch : {"8", "16", "24", "32"}) words.push_back(small + "gpipe/np:2/batch:" + batch);
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("  adjusted  "), HasSubstr(" (adjusted ")));
  for (const auto& record : results()["records"]) {
    const double raw = record["error"]["step_time_relative"], adjusted = record["error"]["adjusted_step_time_relative"];
    const double ratio = record["measured"]["canary"][0]["matrix_product_s"].get<double>() /
                         record["predicted"]["canary_matrix_product_s"].get<double>();
    EXPECT_NEAR(1 + adjusted, (1 + raw) * std::pow(ratio, record["error"]["adjusted_exponent"].get<double>()), 1e-9);
  }
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);
  words.pop_back();
  EXPECT_THAT(run(words).out, Not(HasSubstr("adjusted"))) << "two others are too few";
}

TEST_F(RunTest, ARoundThatCannotBePredictedIsToldAndTheCaseStays) {
  set("FAKE_RANK", "gpipe|paired|lacking|0");
  const Outcome outcome = run({"run", gpipe, "--paired", "--json", "results.json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("nothing is paired: "));
  EXPECT_EQ(results()["records"][0]["error"]["paired_step_time_relative"], nullptr);
}

TEST_F(RunTest, NothingIsPairedWhereNothingIsCalibrated) {
  const Outcome trains = run({"run", gpipe, "--paired", "--dry-run"});
  EXPECT_THAT(trains.out, HasSubstr("--phase paired"));
  const Outcome waits = run({"run", gpipe + "/device:emulated", "--paired", "--dry-run"});
  EXPECT_THAT(waits.out, AllOf(HasSubstr("--phase measure"), Not(HasSubstr("--phase paired"))));
}

TEST_F(RunTest, AWindowIsRoundedUpToWholeRoundsAndSaysSo) {
  const auto expect_rounded = [&](const std::string& rest, const std::string& note, std::size_t samples) {
    const std::string id = small + rest;
    const Outcome outcome = run({"run", id, "--steps", "5", "--warmup", "3", "--json", "results.json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(id + ": " + note));
    EXPECT_EQ(results()["records"][0]["measured"]["losses"].size(), samples);
  };
  expect_rounded("local-sgd/np:2/batch:8", "4 steps of warm-up and 8 measured, whole rounds of 4", 12);
  expect_rounded("parameter-server[mode=async]/np:4/batch:8", "3 steps of warm-up and 6 measured, whole rounds of 3",
                 9);
  EXPECT_THAT(run({"run", small + "local-sgd[every=1]/np:2/batch:8", "--steps", "5", "--warmup", "3"}).err,
              Not(HasSubstr("whole rounds")));
}

TEST_F(RunTest, CalibratesAndProbesOnlyOnce) {
  const Outcome first = run({"run", gpipe});
  ASSERT_EQ(first.code, 0);
  EXPECT_THAT(first.err, HasSubstr("1 case is predicted from one calibration launch: the spread is unknown; "));
  EXPECT_THAT(first.err, HasSubstr("calibrate CASE --launches 3 --pause 5min adds launches\n"));
  const Outcome second = run({"run", gpipe});
  EXPECT_EQ(second.code, 0);
  EXPECT_EQ(count_launches("probe"), 1);
  EXPECT_EQ(count_launches("calibrate"), 1);
  EXPECT_THAT(second.err, Not(HasSubstr("measuring first")));
}

TEST_F(RunTest, PiecesOfAnotherSizeAreCalibratedToo) {
  ASSERT_EQ(run({"run", gpipe}).code, 0);
  ASSERT_EQ(run({"run", small + "gpipe/np:2/batch:64"}).code, 0);
  EXPECT_EQ(count_launches("calibrate"), 2);
}

TEST_F(RunTest, JsonOnStandardOutputIsNothingElse) {
  const Outcome outcome = run({"run", gpipe, "--json", "-"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["records"].size(), 1u);
}

TEST_F(RunTest, ProgressIsPlainLinesOnStandardError) {
  const Outcome outcome = run({"run", gpipe, sequential});
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("[1/2] " + gpipe + " verify eta "),
                                 HasSubstr("[2/2] " + sequential + " measure 1/1 eta "),
                                 HasSubstr("[2/2] " + sequential + " ok"), Not(HasSubstr("\033"))));
}

TEST_F(RunTest, SequentialOnAsManyCoresIsTheBaseline) {
  ASSERT_EQ(run({"run", small + "sequential/np:1/batch:8/threads:2", gpipe, "--json", "results.json"}).code, 0);
  const auto baseline = results()["records"][1]["measured"]["baseline"];
  EXPECT_EQ(baseline["id"], small + "sequential/np:1/batch:8/threads:2");
  EXPECT_DOUBLE_EQ(baseline["speedup"].get<double>(), 1.0);
}

TEST_F(RunTest, VerifyOffAndOnly) {
  ASSERT_EQ(run({"run", gpipe, "--verify", "off", "--json", "results.json"}).code, 0);
  EXPECT_EQ(count_launches("verify"), 0);
  EXPECT_EQ(results()["records"][0]["equivalence"]["status"], "not_checked");
  EXPECT_EQ(results()["records"][0]["equivalence"]["reference"], "sequential");
  ASSERT_EQ(run({"run", small + "pipedream/np:2/batch:8", "--verify", "off", "--json", "results.json"}).code, 0);
  EXPECT_NE(results()["records"][0]["equivalence"]["reference"], "sequential") << "its updates are delayed";
  ASSERT_EQ(run({"run", gpipe, "--verify", "only", "--json", "results.json"}).code, 0);
  EXPECT_EQ(count_launches("verify"), 1);
  EXPECT_EQ(count_launches("measure"), 2);
  EXPECT_EQ(results()["records"][0]["equivalence"]["status"], "pass");
  EXPECT_TRUE(results()["records"][0]["measured"].is_null());
}

TEST_F(RunTest, OnlyVerifyingCalibratesNothing) {
  ASSERT_EQ(run({"run", gpipe, "--verify", "only"}).code, 0);
  EXPECT_EQ(count_launches("calibrate"), 0);
}

TEST_F(RunTest, OptionsReachTheRanks) {
  std::filesystem::create_directory(path("data"));
  ASSERT_EQ(run({"run", gpipe, "--data", "data", "--skip-corrupt", "--trace", "traces", "--repetitions", "2"}).code, 0);
  EXPECT_EQ(count_launches("measure"), 2);
  int traced = 0;
  for (const auto& line : launches()) {
    if (!line.starts_with("measure")) continue;
    EXPECT_THAT(line, AllOf(HasSubstr("--data " + path("data").string()), HasSubstr("--skip-corrupt")));
    traced += line.find("--trace") != std::string::npos;
  }
  EXPECT_EQ(traced, 1);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("traces")), {}), 1);
}

TEST_F(RunTest, ATraceHoldsThePredictionBesideTheMeasurement) {
  const Outcome outcome = run({"run", gpipe, "--trace", "traces", "--steps", "2", "--warmup", "1"});
  ASSERT_EQ(outcome.code, 0);
  const auto file = std::filesystem::directory_iterator(path("traces"))->path();
  EXPECT_THAT(outcome.err, HasSubstr("note: trace: " + ("traces" / file.filename()).string() + "\n"));
  const auto trace = nlohmann::json::parse(std::ifstream(file));
  EXPECT_EQ(trace["otherData"]["case"], gpipe);
  std::set<std::string> processes;
  std::set<int> steps;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") processes.insert(event["args"]["name"].get<std::string>());
    if (event["ph"] == "X") steps.insert(event["args"]["step"].get<int>());
  }
  // The stand-in's own trace is empty.
  EXPECT_EQ(processes, (std::set<std::string>{"predicted rank 0", "predicted rank 1"}));
  EXPECT_EQ(steps, (std::set<int>{0, 1, 2}));
}

TEST_F(RunTest, ATraceOfACaseWithALongIdHasANameThatFileSystemsTake) {
  const std::string keys =
      "/recompute:all/partition:uniform/precision:bf16/layout:channels_last/threads:2/loader:3"
      "/lr:0.1234567890123456/momentum:0.5123456789012345/weight_decay:0.0312512345678901/seed:";
  const std::string id = small + "gpipe/np:2/batch:32/micro:8" + keys + "1234567890123456789";
  const std::string other = small + "gpipe/np:2/batch:32/micro:8" + keys + "1234567890123456788";
  ASSERT_GT(id.size(), 255u);
  const Outcome outcome = run({"run", id, other, "--trace", "traces"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::set<std::string> cases;
  for (const auto& entry : std::filesystem::directory_iterator(path("traces")))
    cases.insert(results(entry.path())["otherData"]["case"]);
  EXPECT_EQ(cases, (std::set<std::string>{id, other}));
  EXPECT_THAT(outcome.err, HasSubstr("note: traces: 2 files in traces\n"));
}

TEST_F(RunTest, MoreRanksThanCoresWarnsAndRuns) {
  const Outcome outcome = run({"run", small + "data-parallel/np:16/batch:32", "--verify", "off"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("cores"), HasSubstr("--oversubscribe")));
}

TEST_F(RunTest, ThreadRanksAndASingleRankNeedNoLauncher) {
  std::filesystem::remove(path("bin/mpirun"));
  set("PATH", path("bin"));
  const Outcome outcome = run({"run", gpipe + "/comm:threads", sequential});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(run({"run", gpipe + "/comm:threads", sequential, "--launcher", "local"}).code, 0);
  EXPECT_EQ(run({"run", gpipe, "--launcher", "local"}).code, 2);
}

TEST_F(RunTest, ALauncherOfTheUsersOwn) {
  ASSERT_EQ(run({"run", gpipe, "--launcher", "mpirun --my-option -np {np} {command}", "--json", "results.json"}).code,
            0);
  EXPECT_EQ(results()["context"]["launcher"], "mpirun --my-option -np {np} {command}");
}

TEST_F(RunTest, HostsAreThoseOfTheRanks) {
  ASSERT_EQ(run({"run", gpipe, "--json", "results.json"}).code, 0);
  const auto hosts = results()["context"]["hosts"];
  ASSERT_EQ(hosts.size(), 1u);
  EXPECT_EQ(hosts[0]["name"], "fake");
  EXPECT_EQ(hosts[0]["cpusets"], nlohmann::json({"0-1", "0-1"}));
}

TEST_F(RunTest, TheFirstCommandOfALauncherIsShownInFull) {
  const Outcome outcome = run({"run", gpipe, pipedream, sequential, "--repetitions", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string shown = "note: ranks are started by mpirun -np ";
  std::vector<std::string> commands;
  for (auto at = outcome.err.find(shown); at != std::string::npos; at = outcome.err.find(shown, at + 1))
    commands.push_back(outcome.err.substr(at, outcome.err.find('\n', at) - at));
  ASSERT_EQ(commands.size(), 2u) << outcome.err;
  EXPECT_THAT(commands[0], AllOf(HasSubstr("mpirun -np 2 "), HasSubstr(FAKE_RANK_PROGRAM), HasSubstr("--plan /")));
  EXPECT_THAT(commands[1], HasSubstr("mpirun -np 1 "));
}

/// A Slurm job on one host whose srun knows these kinds of MPI.
class SlurmTest : public RunTest {
 protected:
  void inside(const std::string& kinds) {
    set("SLURM_JOB_ID", "12");
    set("SLURM_JOB_NODELIST", "n1");
    set("SLURMD_NODENAME", "n1");
    std::ofstream srun(path("bin/srun"));
    srun << "#!/bin/sh\n"
            "[ \"$1\" != --mpi=list ] || { echo MPI plugin types are... "
         << kinds
         << " >&2 && exit; }\n"
            "while [ \"$1\" != -n ]; do shift; done\n"
            "shift && exec mpirun -np \"$@\"\n";
    srun.close();
    std::filesystem::permissions(path("bin/srun"), std::filesystem::perms::owner_all);
  }
};

TEST_F(SlurmTest, RanksAreStartedBySrunThatSpeaksPmix) {
  inside("none pmix pmix_v4");
  const Outcome outcome = run({"run", gpipe, "--json", "results.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("note: Slurm job 12 (n1): the launcher is srun, since"),
                                 HasSubstr("ranks are started by srun --mpi=pmix")));
  EXPECT_EQ(results()["context"]["launcher"], "srun");
  EXPECT_THAT(results()["records"][0]["reproduce"].get<std::string>(), Not(HasSubstr("--launcher")));
}

TEST_F(SlurmTest, ElseByMpirun) {
  inside("none pmi2");
  const Outcome outcome = run({"run", gpipe, "--json", "results.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("the launcher is mpirun, since `srun --mpi=list` names no pmix"));
  EXPECT_EQ(results()["context"]["launcher"], "mpirun");
}

TEST_F(SlurmTest, TheLauncherThatIsGivenWins) {
  inside("none pmix");
  const Outcome outcome = run({"run", gpipe, "--launcher", "mpirun", "--json", "results.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, Not(HasSubstr("the launcher is")));
  EXPECT_EQ(results()["context"]["launcher"], "mpirun");
  EXPECT_THAT(results()["records"][0]["reproduce"].get<std::string>(), HasSubstr("--launcher mpirun"));
}

TEST_F(SlurmTest, ADryRunPrintsTheSame) {
  inside("none pmix");
  EXPECT_THAT(run({"run", gpipe, "--dry-run"}).out, HasSubstr("srun --mpi=pmix"));
}

TEST_F(RunTest, WhatThisBuildLacksIsASkippedRecord) {
  const std::string cuda = small + "sequential/np:1/batch:8/device:cuda";
  const Outcome outcome = run({"run", cuda, gpipe, "--json", "results.json"});
  EXPECT_EQ(outcome.code, 4);
  const auto document = results();
  EXPECT_EQ(document["records"][0]["status"], "skipped");
  EXPECT_THAT(document["records"][0]["reason"].get<std::string>(), HasSubstr("device:cuda"));
  EXPECT_EQ(document["records"][1]["status"], "ok");
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);
}

TEST_F(RunTest, WhatWouldExceedTheMemoryIsSkippedUnlessForced) {
  const std::string huge = "resnet152/highres-synthetic/sequential/np:1/batch:100000";
  const Outcome outcome = run({"run", huge, "--json", "results.json"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(results()["records"][0]["reason"].get<std::string>(), HasSubstr("--force"));
  EXPECT_EQ(run({"run", huge, "--force", "--verify", "off"}).code, 0);
}

TEST_F(RunTest, FilteredImpossibleCasesAreSkippedWithoutHarm) {
  const Outcome outcome = run({"run", "--filter", "resnet18/imagenet/gpipe/np:2", "--json", "results.json"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(results()["records"][0]["status"], "skipped");
  EXPECT_THAT(results()["records"][0]["reason"].get<std::string>(), HasSubstr("--data"));
}

TEST_F(RunTest, QuickWritesItsFile) {
  const Outcome outcome = run({"quick"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto document = results("results/out/quick.json");
  ASSERT_EQ(document["records"].size(), 5u);
  for (const auto& record : document["records"]) EXPECT_EQ(record["status"], "ok");
  EXPECT_EQ(count_launches("measure"), 15);
  EXPECT_EQ(run({"validate", "results/out/quick.json"}).code, 0);
}

TEST_F(RunTest, QuickShowsItsCommandsAndMakesNothing) {
  const Outcome outcome = run({"quick", "--dry-run"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("--phase measure"));
  EXPECT_FALSE(std::filesystem::exists(path("results")));
}

TEST_F(RunTest, GoogleBenchmarksFlagsWork) {
  const Outcome listed = run({"run", gpipe, sequential, "--benchmark_list_tests"});
  EXPECT_EQ(listed.out, gpipe + "/iterations:20/manual_time\n" + sequential + "/iterations:20/manual_time\n");
  EXPECT_TRUE(launches().empty());

  const Outcome json = run({"run", gpipe, sequential, "--benchmark_format=json", "--benchmark_repetitions=2",
                            "--benchmark_filter=gpipe", "--benchmark_out=gb.json"});
  EXPECT_EQ(json.code, 0) << json.err;
  EXPECT_THAT(json.err, HasSubstr("note: Google Benchmark's results: gb.json\n"));
  for (const auto& document : {nlohmann::json::parse(json.out), results("gb.json")}) {
    EXPECT_EQ(document["context"]["executable"], "parabench");
    const auto& benchmarks = document["benchmarks"];
    ASSERT_EQ(benchmarks.size(), 6u);  // two repetitions, mean, median, stddev, cv
    EXPECT_EQ(benchmarks[0]["name"], gpipe + "/iterations:20/manual_time");
    EXPECT_EQ(benchmarks[0]["time_unit"], "ms");
    EXPECT_NEAR(benchmarks[0]["real_time"].get<double>(), 51, 1);
    EXPECT_GT(benchmarks[0]["pred_step_s"], 0);
    EXPECT_NEAR(benchmarks[0]["items_per_second"].get<double>(), 8 / 0.051, 5);
  }
  EXPECT_EQ(count_launches("measure " + gpipe), 2);
  EXPECT_EQ(count_launches("measure " + sequential), 0);
}

TEST_F(RunTest, GoogleBenchmarksTwinsWork) {
  set("BENCHMARK_REPETITIONS", "2");
  set("BENCHMARK_FILTER", "sequential");
  ASSERT_EQ(run({"run", gpipe, sequential}).code, 0);
  EXPECT_EQ(count_launches("measure " + sequential), 2);
  EXPECT_EQ(count_launches("measure " + gpipe), 0);
}

TEST_F(RunTest, LeavesNothingBehind) {
  ASSERT_EQ(run({"run", gpipe}).code, 0);
  EXPECT_EQ(left_running(), 0);
  for (const auto& entry : std::filesystem::directory_iterator(path(""))) {
    EXPECT_THAT(entry.path().filename().string(), Not(testing::StartsWith("parabench-")));
  }
}

}  // namespace
}  // namespace parabench::suite
