// Sweeps: what their scripts run, what is told of them, and that nothing runs twice.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "suite/launch/launcher.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

const std::string grid = R"(
name = "pipes"
system = "here"
cases = ["resnet18/imagenet-synthetic[pixels=32,classes=10]/sequential/np:1/batch:8"]
[grid]
model = "resnet18"
dataset = "imagenet-synthetic[pixels=32,classes=10]"
strategy = ["gpipe", "pipedream"]
np = 2
batch = 8
[run]
steps = 6
warmup = 1
verify = "off"
)";

class SweepTest : public FrontTest {
 protected:
  void write(const std::string& text, const std::string& name = "sweep.toml") { std::ofstream(path(name)) << text; }
  Outcome make(const std::string& text, const std::string& scheduler = "local") {
    write(text);
    return run({"sweep", "sweep.toml", "--scheduler", scheduler, "--out", "my runs"});
  }
  fs::path folder() const { return path("my runs/pipes/here"); }
  pid_t start_shell(const std::string& command) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    setpgid(0, 0);
    dup2(open(path("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), 1);
    dup2(open(path("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), 2);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  Outcome finish_shell(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), read_text(path("out")),
            read_text(path("err"))};
  }
  Outcome shell(const std::string& command) { return finish_shell(start_shell(command)); }
  Outcome run_local() { return shell(shell_line({"exec", "sh", folder() / "run.sh"})); }
  json status() { return json::parse(run({"sweep", "status", "my runs", "--json"}).out)[0]; }
  std::vector<std::string> states() {
    std::vector<std::string> states;
    const json now = status();
    for (const json& one : now["cases"]) states.push_back(one["state"]);
    return states;
  }
  void refuse(const std::string& text, const testing::Matcher<std::string>& message) {
    const Outcome outcome = make(text);
    EXPECT_EQ(outcome.code, 2) << text;
    EXPECT_THAT(outcome.err, message);
    EXPECT_FALSE(fs::exists(path("my runs")));
  }
};

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

  const std::string before = read_text(path("log"));
  const std::string index = read_text(folder() / "index.tsv");
  const std::string result = index.substr(0, index.find('\t')) + "/result.json";
  const std::string kept = read_text(folder() / result);
  EXPECT_EQ(run_local().code, 0);
  EXPECT_EQ(read_text(path("log")), before);
  EXPECT_EQ(read_text(folder() / result), kept);
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
  EXPECT_EQ(finish_shell(pid).code, 1000 + SIGKILL);
  EXPECT_EQ(left_running(), 0);
  const json stopped = status();
  EXPECT_THAT(stopped["counts"], (json{{"done", 1}, {"failed", 0}, {"missing", 2}, {"running", 0}, {"skipped", 0}}));
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
  EXPECT_EQ(finish_shell(pid).code, 130);
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

  const std::string index = read_text(folder() / "index.tsv");
  const fs::path result = folder() / index.substr(0, index.find('\t')) / "result.json";
  json other = read_json(result);
  other["context"]["hosts"][0]["cpu"] = "Z80";
  write_atomically(result, other.dump());
  const Outcome refused = run({"sweep", "collect", "my runs", "--json", "all.json"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("machine"), HasSubstr("Z80"), HasSubstr(sequential)));
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

TEST_F(SweepTest, ErrorsNamePlaceValueAndTheNearestWord) {
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

class SlurmSweepTest : public SweepTest {
 protected:
  const std::string slurm_ = R"(
[slurm]
partition = "big"
account = "a b"
time = "90min"
at-once = 2
cores-per-node = 2
options = ["--constraint=ib"]
prologue = ["export PROLOGUE=\"$HOME\""]
)";
  std::string four_ranks() const {
    std::string text = grid;
    return text.replace(text.find("np = 2"), 6, "np = [2, 4]") + slurm_;
  }
  /// Stands in for sbatch: runs every task of the array, one after the other.
  void make_sbatch() {
    std::ofstream(path("bin/sbatch")) << R"(#!/bin/bash
last=$(sed -n 's/^#SBATCH --array=0-\([0-9]*\)%2$/\1/p' "$1")
cp "$1" "$TMPDIR/slurm_script"  # As slurmd does: the script does not know its folder.
code=0
for task in $(seq 0 "$last"); do
  (cd / && SLURM_ARRAY_TASK_ID=$task bash "$TMPDIR/slurm_script") || code=$?
done
exit "$code"
)";
    fs::permissions(path("bin/sbatch"), fs::perms::owner_all);
  }
};

TEST_F(SlurmSweepTest, OneArrayForEachNumberOfNodes) {
  const Outcome made = make(four_ranks(), "slurm");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("nodes-1.sbatch'    # 3 cases"), HasSubstr("nodes-2.sbatch'    # 2 cases")));
  const std::string one = read_text(folder() / "nodes-1.sbatch"), two = read_text(folder() / "nodes-2.sbatch");
  EXPECT_THAT(one, AllOf(HasSubstr("#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=2\n#SBATCH --exclusive\n"),
                         HasSubstr("#SBATCH --array=0-2%2\n#SBATCH --time=01:30:00\n#SBATCH --partition=big\n"),
                         HasSubstr("#SBATCH --account=\"a b\"\n"), HasSubstr("#SBATCH --constraint=ib\n"),
                         HasSubstr("\nset -e\nexport PROLOGUE=\"$HOME\"\nset -u\n")));
  EXPECT_THAT(two, AllOf(HasSubstr("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=2\n"), HasSubstr("--array=0-1%2\n")));
  EXPECT_THAT(read_text(folder() / "nodes-2.cases"), AllOf(HasSubstr("gpipe/np:4"), HasSubstr("pipedream/np:4")));
}

TEST_F(SlurmSweepTest, EveryTaskOfTheArrayRunsItsCase) {
  make_sbatch();
  ASSERT_EQ(make(four_ranks(), "slurm").code, 0);
  for (const char* script : {"nodes-1.sbatch", "nodes-2.sbatch"}) {
    const Outcome submitted = shell(shell_line({"sbatch", folder() / script}));
    EXPECT_EQ(submitted.code, 0) << submitted.err;
    EXPECT_THAT(submitted.out,
                AllOf(HasSubstr("FOM step_time_median_s: 0.051"), HasSubstr("PARABENCH_RESULT: PASS\n")));
  }
  EXPECT_THAT(states(), ElementsAre("done", "done", "done", "done", "done"));
  const std::string before = read_text(path("log"));
  EXPECT_EQ(shell(shell_line({"sbatch", folder() / "nodes-1.sbatch"})).code, 0);
  EXPECT_EQ(read_text(path("log")), before);
}

TEST_F(SlurmSweepTest, ATaskWithoutACaseSaysSo) {
  ASSERT_EQ(make(four_ranks(), "slurm").code, 0);
  const Outcome outcome = shell(shell_line({"env", "SLURM_ARRAY_TASK_ID=3", "bash", folder() / "nodes-1.sbatch"}));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("no case 3"));
}

TEST_F(SlurmSweepTest, GpusHaveScriptsOfTheirOwn) {
  const std::string cases =
      "name = \"pipes\"\nsystem = \"here\"\ncases = [\"" + sequential + "\", \"" + gpipe + "/device:cuda\"]\n[slurm]\n";
  const Outcome refused = make(cases, "slurm");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("gpus-per-node"));
  ASSERT_EQ(make(cases + "gpus-per-node = 1\n", "slurm").code, 0);
  EXPECT_THAT(read_text(folder() / "nodes-2-gpu.sbatch"), HasSubstr("--gpus-per-node=1\n#SBATCH --gpu-bind=none\n"));
  EXPECT_THAT(read_text(folder() / "nodes-1.sbatch"), Not(HasSubstr("gpu")));
}

TEST_F(SlurmSweepTest, ShellsReadTheScripts) {
  ASSERT_EQ(make(four_ranks(), "slurm").code, 0);
  ASSERT_EQ(make(four_ranks()).code, 0);
  const std::string sbatch = folder() / "nodes-1.sbatch", local = folder() / "run.sh";
  EXPECT_EQ(shell(shell_line({"bash", "-n", sbatch})).code, 0);
  EXPECT_EQ(shell(shell_line({"sh", "-n", local})).code, 0);
  if (shell("command -v shellcheck").code != 0) GTEST_SKIP() << "no shellcheck";
  const Outcome checked = shell(shell_line({"shellcheck", sbatch, local}));
  EXPECT_EQ(checked.code, 0) << checked.out;
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
