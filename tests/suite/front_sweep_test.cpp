// Sweeps: what their scripts run, what is told of them, and that nothing runs twice.
#include <signal.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "suite/launch/launcher.h"
#include "suite/run/run_options.h"
#include "tests/suite/sweep_fixture.h"

namespace parabench::suite {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

TEST_F(SweepTest, TheLocalScriptRunsEveryCaseOnceHoweverOftenItIsStarted) {
  const Outcome made = make(grid);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("3 cases"), HasSubstr("0 left out")));
  EXPECT_THAT(states(), ElementsAre("missing", "missing", "missing"));

  const Outcome first = run_local();
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("FOM case: " + gpipe + "\n"), HasSubstr("FOM step_time_median_s: 0.051"),
                               HasSubstr("[3/3] PASS " + pipedream), HasSubstr("PARABENCH_RESULT: PASS\n")));
  EXPECT_THAT(states(), ElementsAre("done", "done", "done"));
  EXPECT_EQ(count_launches("measure " + gpipe), 1);
  EXPECT_TRUE(launches().back().find("--steps 6 --warmup 1") != std::string::npos) << launches().back();
  EXPECT_EQ(count_launches("verify"), 0);

  const std::string before = read_text(path("log")), kept = read_text(first_result());
  EXPECT_EQ(run_local().code, 0);
  EXPECT_EQ(read_text(path("log")), before);
  EXPECT_EQ(read_text(first_result()), kept);
  EXPECT_EQ(fs::canonical(path("my runs/latest")), fs::canonical(folder()));
}

TEST_F(SweepTest, AfterAKillTheScriptGoesOnWhereItStopped) {
  ASSERT_EQ(make(grid).code, 0);
  set("FAKE_RANK", "gpipe|measure|hang|-1");
  const pid_t pid = start_shell(shell_line({"exec", "sh", folder() / "run.sh"}));
  for (int i = 0; i < 1000 && count_launches("measure " + gpipe) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_THAT(states(), ElementsAre("done", "running", "missing"));
  kill(-pid, SIGKILL);
  EXPECT_EQ(finish(pid).code, 1000 + SIGKILL);
  EXPECT_EQ(left_running(), 0);
  const json stopped = status();
  EXPECT_THAT(stopped["counts"],
              (json{{"done", 1}, {"failed", 0}, {"missing", 2}, {"other", 0}, {"running", 0}, {"skipped", 0}}));
  EXPECT_THAT(stopped["cases"][1]["reason"].get<std::string>(), HasSubstr("cut short"));
  EXPECT_EQ(stopped["cases"][2]["reason"], "not started");

  set("FAKE_RANK", "");
  const Outcome again = run_local();
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(count_launches("measure " + sequential), 1);
  EXPECT_THAT(states(), ElementsAre("done", "done", "done"));
}

TEST_F(SweepTest, CtrlCFinishesTheRecordAndStops) {
  ASSERT_EQ(make(grid).code, 0);
  set("FAKE_RANK", "gpipe|measure|slow|-1");
  const pid_t pid = start_shell(shell_line({"exec", "sh", folder() / "run.sh"}));
  for (int i = 0; i < 1000 && count_launches("measure " + gpipe) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(-pid, SIGINT);
  EXPECT_EQ(finish(pid).code, 130);
  EXPECT_THAT(states(), ElementsAre("done", "done", "missing"));
}

TEST_F(SweepTest, FailedCasesAreToldAndRunAgain) {
  ASSERT_EQ(make(grid).code, 0);
  set("FAKE_RANK", "gpipe|measure|failure|1");
  const Outcome failed = run_local();
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.out,
              AllOf(HasSubstr("[2/3] FAIL " + gpipe), HasSubstr("[3/3] PASS"), HasSubstr("PARABENCH_RESULT: FAIL\n")));
  const Outcome told = run({"sweep", "status", "my runs"});
  EXPECT_EQ(told.code, 1);
  EXPECT_THAT(told.out, AllOf(HasSubstr("failed  " + gpipe), HasSubstr("told to fail"), HasSubstr("   done 2")));
  set("FAKE_RANK", "");
  EXPECT_EQ(run_local().code, 0);
  EXPECT_EQ(count_launches("measure " + sequential), 1);
  EXPECT_EQ(run({"sweep", "status", "my runs"}).code, 0);
}

TEST_F(SweepTest, ARunThatRefusesToStartIsAFailure) {
  ASSERT_EQ(make(grid + "data = \"none/there\"\n").code, 0);
  const Outcome failed = run_local();
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(states(), ElementsAre("failed", "failed", "failed"));
  EXPECT_THAT(status()["cases"][0]["reason"].get<std::string>(), HasSubstr(path("none/there").string()));
}

TEST_F(SweepTest, CollectMergesAllResultsOfOneOrigin) {
  ASSERT_EQ(make(grid).code, 0);
  EXPECT_EQ(run({"sweep", "collect", "my runs", "--json", "all.json"}).code, 3);
  ASSERT_EQ(run_local().code, 0);
  const Outcome collected = run({"sweep", "collect", "my runs", "--json", "all.json"});
  ASSERT_EQ(collected.code, 0) << collected.err;
  EXPECT_EQ(run({"validate", "all.json"}).code, 0);
  const json all = results("all.json");
  ASSERT_EQ(all["records"].size(), 3u);
  EXPECT_EQ(all["records"][1]["id"], gpipe);

  EXPECT_EQ(collected.out, "all.json: records of 3 of 3 cases\n");

  json other = read_json(first_result());
  other["context"]["hosts"][0]["cpu"] = "Z80";
  write_atomically(first_result(), other.dump());
  const Outcome refused = run({"sweep", "collect", "my runs", "--json", "all.json"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("machine"), HasSubstr("Z80"), HasSubstr(sequential)));
}

TEST_F(SweepTest, ResultsOfOtherOptionsAreToldAndNotCollected) {
  const auto with_steps = [](const std::string& text, const std::string& steps) {
    return std::string(text).replace(text.find("steps = 6"), 9, "steps = " + steps);
  };
  ASSERT_EQ(make(with_steps(grid, "5")).code, 0);
  ASSERT_EQ(run_local().code, 0);
  ASSERT_EQ(make(grid).code, 0);
  const Outcome told = run({"sweep", "status", "my runs"});
  EXPECT_EQ(told.code, 1);
  const fs::path first = first_result().parent_path();
  EXPECT_THAT(told.out, AllOf(HasSubstr("   done 0\n"), HasSubstr("  other 3\n"), HasSubstr("other   " + gpipe),
                              HasSubstr("made with other options: parabench run"), HasSubstr("--steps 5"),
                              HasSubstr("remove my runs/pipes/here/" + first.filename().string() +
                                        " to run it again, if the sweep still has the case")));
  EXPECT_EQ(run({"sweep", "collect", "my runs", "--json", "all.json"}).code, 3);

  EXPECT_EQ(run_local().code, 1);
  EXPECT_EQ(count_launches("measure"), 3);
  EXPECT_THAT(states(), ElementsAre("other", "other", "other"));
  fs::remove_all(first);
  EXPECT_EQ(run_local().code, 1);
  EXPECT_THAT(states(), ElementsAre("done", "other", "other"));
  const Outcome collected = run({"sweep", "collect", "my runs", "--json", "all.json"});
  EXPECT_EQ(collected.out, "all.json: records of 1 of 3 cases\n");
  EXPECT_THAT(collected.err, AllOf(HasSubstr("left out  " + gpipe), HasSubstr("other options")));

  // Cases that this sweep has no more are judged by its options, too.
  std::string shorter = with_steps(grid, "5");
  ASSERT_EQ(make(shorter.replace(shorter.find("\"gpipe\", "), 9, "")).code, 0);
  EXPECT_THAT(states(), ElementsAre("other", "done", "done"));
}

TEST_F(SweepTest, ResultsOfAFailureWithOtherOptionsAreRunAgain) {
  ASSERT_EQ(make(grid).code, 0);
  set("FAKE_RANK", "gpipe|measure|failure|1");
  ASSERT_EQ(run_local().code, 1);
  set("FAKE_RANK", "");
  ASSERT_EQ(make(grid + "repetitions = 2\n").code, 0);
  const json now = status();
  EXPECT_EQ(now["cases"][1]["state"], "other");
  EXPECT_THAT(now["cases"][1]["reason"].get<std::string>(), HasSubstr("the script runs it again"));
  run_local();
  EXPECT_EQ(status()["cases"][1]["state"], "done");
}

TEST_F(SweepTest, ALongerTimeOutRunsOnlyAgainWhatFailed) {
  ASSERT_EQ(make(grid).code, 0);
  set("FAKE_RANK", "gpipe|measure|failure|1");
  ASSERT_EQ(run_local().code, 1);
  set("FAKE_RANK", "");
  ASSERT_EQ(make(grid + "timeout = \"5min\"\nforce = true\n").code, 0);
  EXPECT_THAT(states(), ElementsAre("done", "failed", "done"));
  const int before = count_launches("measure");
  EXPECT_EQ(run_local().code, 0);
  EXPECT_EQ(count_launches("measure"), before + 1);
  EXPECT_THAT(states(), ElementsAre("done", "done", "done"));
}

TEST_F(SweepTest, EveryOptionOfAFileComesBackInTheRecord) {
  const std::map<std::string_view, std::string> samples{{"--steps", ""},
                                                        {"--warmup", ""},  // in the grid
                                                        {"--repetitions", "2"},
                                                        {"--until-interval", "\"40%\""},
                                                        {"--max-repetitions", "3"},
                                                        {"--launcher", "\"mpirun -np {np} {program}\""},
                                                        {"--data", "\"some where\""},
                                                        {"--skip-corrupt", "true"},
                                                        {"--calibration", "\"some where/c.json\""},
                                                        {"--verify", ""},
                                                        {"--force", "true"},
                                                        {"--timeout", "\"1.5min\""},
                                                        {"--retries", "1"},
                                                        {"--paired", "true"},
                                                        {"--emulate", ""}};  // of emulated devices alone
  std::string all = grid;
  for (const RunOption& option : run_options()) {
    if (!option.of_sweep()) continue;
    const auto sample = samples.find(option.name);
    ASSERT_NE(sample, samples.end()) << option.name << " has no sample here";
    if (!sample->second.empty()) all += std::string(option.name.substr(2)) + " = " + sample->second + "\n";
  }
  fs::create_directories(path("some where"));
  const Outcome made = make(all);
  ASSERT_EQ(made.code, 0) << made.err;
  const Outcome ran = run_local();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(states(), ElementsAre("done", "done", "done"));
}

TEST_F(SweepTest, AnIndexWithoutCommandsIsReadAndCompletedByTheNextSweep) {
  ASSERT_EQ(make(grid).code, 0);
  ASSERT_EQ(run_local().code, 0);
  const std::string whole = read_text(folder() / "index.tsv");
  fs::copy_file(folder() / "run.cases", folder() / "index.tsv", fs::copy_options::overwrite_existing);
  ASSERT_NE(read_text(folder() / "index.tsv"), whole);
  EXPECT_THAT(states(), ElementsAre("done", "done", "done"));
  ASSERT_EQ(make(grid).code, 0);
  EXPECT_EQ(read_text(folder() / "index.tsv"), whole);
}

TEST_F(SweepTest, EveryAttemptKeepsWhatItSaid) {
  ASSERT_EQ(make(grid).code, 0);
  set("FAKE_RANK", "sequential|measure|failure|0");
  ASSERT_EQ(run_local().code, 1);
  set("FAKE_RANK", "");
  ASSERT_EQ(run_local().code, 0);
  ASSERT_EQ(run_local().code, 0);
  const fs::path of_case = first_result().parent_path();
  EXPECT_THAT(read_text(of_case / "stdout.1"), HasSubstr("PARABENCH_RESULT: FAIL"));
  EXPECT_THAT(read_text(of_case / "stderr.1"), HasSubstr("told to fail"));
  EXPECT_THAT(read_text(of_case / "stdout.2"), HasSubstr("PARABENCH_RESULT: PASS"));
  EXPECT_TRUE(fs::exists(of_case / "stderr.2"));
  EXPECT_EQ(fs::read_symlink(of_case / "stdout"), "stdout.3");
  EXPECT_EQ(fs::read_symlink(of_case / "stderr"), "stderr.3");
  EXPECT_FALSE(fs::exists(of_case / "stdout.4"));
}

TEST_F(SweepTest, CollectKeepsACalibrationThatGrew) {
  ASSERT_EQ(make(grid).code, 0);
  ASSERT_EQ(run_local().code, 0);
  const auto calibration_after = [this](const json& first) {
    json file = read_json(first_result());
    file["calibration"] = first;
    write_atomically(first_result(), file.dump());
    EXPECT_EQ(run({"sweep", "collect", "my runs", "--json", "all.json"}).code, 0);
    return results("all.json")["calibration"];
  };
  for (const fs::directory_entry& entry : fs::directory_iterator(folder())) {
    if (!entry.is_directory()) continue;
    json file = read_json(entry.path() / "result.json");
    file["calibration"] = {{"file", "c.json"}, {"date", "2026-01-02T00:00:00Z"}, {"machine_id", "00ff"}};
    write_atomically(entry.path() / "result.json", file.dump());
  }
  const json earlier = {{"file", "c.json"}, {"date", "2026-01-01T00:00:00Z"}, {"machine_id", "00ff"}};
  json later = earlier, another = earlier;
  later["date"] = "2026-01-03T00:00:00Z";
  another["file"] = "d.json";
  EXPECT_EQ(calibration_after(earlier)["date"], "2026-01-02T00:00:00Z");
  EXPECT_EQ(calibration_after(later), later);
  EXPECT_EQ(calibration_after(another), nullptr);
}

TEST_F(SweepTest, ImpossibleCombinationsAreLeftOutWithTheirReason) {
  const Outcome made = make(R"(
name = "pipes"
system = "here"
exclude = "strategy=gpipe,np=4"
[grid]
model = "mlp"
dataset = "cifar10-synthetic"
strategy = ["sequential", "gpipe"]
np = [1, 2, 4]
batch = 8
micro = 16
)");
  EXPECT_EQ(made.code, 3) << made.out;
  EXPECT_THAT(made.out, AllOf(HasSubstr("left out  mlp/cifar10-synthetic/sequential/np:2/batch:8/micro:16"),
                              HasSubstr("left out  mlp/cifar10-synthetic/gpipe/np:2/batch:8/micro:16"),
                              Not(HasSubstr("gpipe/np:4"))));
}

class SweepFileTest : public SweepTest {
 protected:
  void refuse(const std::string& text, const testing::Matcher<std::string>& message) {
    const Outcome outcome = make(text);
    EXPECT_EQ(outcome.code, 2) << text;
    EXPECT_THAT(outcome.err, message);
    EXPECT_FALSE(fs::exists(path("my runs")));
  }
};

TEST_F(SweepFileTest, ErrorsNamePlaceValueAndTheNearestWord) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = grid;
    return text.replace(text.find(from), from.size(), to);
  };
  refuse(with("[grid]", "[gird]"),
         AllOf(HasSubstr("sweep.toml: sweep: got 'gird'"), HasSubstr("did you mean 'grid'?")));
  refuse(with("steps = 6", "step = 6"), AllOf(HasSubstr("sweep.run: got 'step'"), HasSubstr("'steps'")));
  refuse(with("steps = 6", "json = \"a.json\""), HasSubstr("sweep.run: got 'json'"));
  refuse(with("steps = 6", "steps = 0"), AllOf(HasSubstr("sweep.run.steps: got '0'"), HasSubstr("from 1")));
  refuse(with("\"gpipe\"", "\"gpype\""), AllOf(HasSubstr("sweep.grid.strategy[0]: got 'gpype'"), HasSubstr("'gpipe'")));
  refuse(with("np = 2", "np = [2, 0]"), HasSubstr("sweep.grid.np[1]: got '0', expected an integer"));
  refuse(with("np = 2\n", ""), HasSubstr("sweep.grid.np: got 'missing'"));
  refuse(with("np = 2", "np = []"), AllOf(HasSubstr("sweep.grid.np"), HasSubstr("at least one value")));
  refuse(with("np = 2", "np = 2\nmicor = 4"), AllOf(HasSubstr("'micor'"), HasSubstr("did you mean 'micro'?")));
  refuse(with("batch:8", "batch:0"), AllOf(HasSubstr("sweep.cases[0]"), HasSubstr("batch")));
  refuse(with("sequential/np:1", "gpipe/np:64"), AllOf(HasSubstr("sweep.cases[0]"), HasSubstr("a case that can run")));
  refuse(with("[grid]", "where = \"npp<3\"\n[grid]"), AllOf(HasSubstr("sweep.where: got 'npp<3'"), HasSubstr("'np'")));
  refuse(with("[grid]", "sets = [\"quik\"]\n[grid]"), AllOf(HasSubstr("sweep.sets[0]"), HasSubstr("'quick'")));
  refuse(with("name = \"pipes\"", "name = \"../pipes\""), AllOf(HasSubstr("sweep.name"), HasSubstr("a folder's name")));
  refuse(with("np = 2", "np = "), AllOf(HasSubstr("sweep.toml: got 'line 9, column 6'"), HasSubstr("a TOML document")));
}

TEST_F(SweepTest, CommandLinesSayWhatIsMissing) {
  write(grid);
  const auto refuse_words = [this](const std::vector<std::string>& words, const std::string& message) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(message));
  };
  refuse_words({"sweep"}, "FILE, status or collect");
  refuse_words({"sweep", "sweep.toml"}, "--out DIR");
  refuse_words({"sweep", "sweep.toml", "--out", "o", "--scheduler", "slrum"}, "did you mean 'slurm'?");
  refuse_words({"sweep", "sweep.toml", "--out", "two\n#SBATCH lines"}, "without control characters");
  refuse_words({"sweep", "status"}, "expected DIR after it");
  refuse_words({"sweep", "status", ".", "--jsn"}, "did you mean '--json'?");
  refuse_words({"sweep", "status", "."}, "holds index.tsv");
  EXPECT_THAT(run({"sweep", "status", "--help"}).out, HasSubstr("Usage: parabench sweep status"));
}

TEST_F(SweepTest, AShorterGridKeepsSightOfResults) {
  ASSERT_EQ(make(grid).code, 0);
  ASSERT_EQ(run_local().code, 0);
  std::string shorter = grid;
  ASSERT_EQ(make(shorter.replace(shorter.find("\"gpipe\", "), 9, "")).code, 0);
  EXPECT_THAT(states(), ElementsAre("done", "done", "done"));
  EXPECT_THAT(read_text(folder() / "run.cases"), Not(HasSubstr("gpipe")));
}

TEST_F(SweepTest, TheSameInJson) {
  write(R"({"name": "pipes", "system": "here", "cases": [")" + sequential + R"("], "run": {"steps": 7}})",
        "sweep.json");
  const Outcome made = run({"sweep", "sweep.json", "--out", "my runs"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(read_text(folder() / "run.sh"), HasSubstr("--steps 7"));
}

TEST_F(SweepTest, FomTellsWhatHappened) {
  const auto last_line = [this](const std::vector<std::string>& words) {
    const Outcome outcome = run(words);
    return outcome.out.substr(outcome.out.rfind('\n', outcome.out.size() - 2) + 1);
  };
  EXPECT_EQ(last_line({"run", gpipe, "--fom"}), "PARABENCH_RESULT: PASS\n");
  EXPECT_EQ(last_line({"run", gpipe + "/device:cuda", "--fom"}), "PARABENCH_RESULT: SKIP\n");
  EXPECT_EQ(last_line({"run", gpipe, "--fom", "--data", "nowhere"}), "PARABENCH_RESULT: FAIL\n");
  set("FAKE_RANK", "gpipe|verify|unequal|-1");
  const Outcome unequal = run({"run", sequential, gpipe, "--fom"});
  EXPECT_THAT(unequal.out, HasSubstr("PARABENCH_RESULT: FAIL\n"));
  EXPECT_THAT(unequal.out, HasSubstr("FOM case: " + gpipe + "\nPARABENCH_RESULT"));
  EXPECT_EQ(run({"run", gpipe, "--fom", "--json", "-"}).code, 2);
}

}  // namespace
}  // namespace parabench::suite
