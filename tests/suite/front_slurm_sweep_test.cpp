// Job scripts of sweeps, run by a stand-in for sbatch.
#include <fstream>

#include "base/file.h"
#include "suite/launch/launcher.h"
#include "tests/suite/sweep_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

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

TEST_F(SlurmSweepTest, ScriptsThatTheGridNoLongerHasAreRemoved) {
  ASSERT_EQ(make(four_ranks(), "slurm").code, 0);
  std::ofstream(folder() / "notes.txt") << "mine";
  const Outcome again = make(grid + slurm_, "slurm");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(fs::exists(folder() / "nodes-1.sbatch"));
  EXPECT_FALSE(fs::exists(folder() / "nodes-2.sbatch"));
  EXPECT_THAT(again.out, HasSubstr("nodes-2.sbatch, of an earlier sweep"));
  EXPECT_TRUE(fs::exists(folder() / "nodes-2.cases")) << "a job array may still read it";
  EXPECT_TRUE(fs::exists(folder() / "notes.txt"));
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

TEST_F(SlurmSweepTest, SeveralNodesShareTheFolderThroughWhichRanksSpeak) {
  ASSERT_EQ(make(four_ranks(), "slurm").code, 0);
  EXPECT_THAT(read_text(folder() / "nodes-1.sbatch"), Not(HasSubstr("TMPDIR")));
  EXPECT_THAT(read_text(folder() / "nodes-2.sbatch"),
              HasSubstr("\nset -e\nexport TMPDIR=" + shell_line({folder() / "tmp"}) +
                        "\nmkdir -p \"$TMPDIR\"\nexport PROLOGUE=\"$HOME\"\n"));
  const Outcome outcome = shell(shell_line({"env", "SLURM_ARRAY_TASK_ID=0", "bash", folder() / "nodes-2.sbatch"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(fs::is_directory(folder() / "tmp"));
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
}  // namespace
}  // namespace parabench::suite
