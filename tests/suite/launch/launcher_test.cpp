#include "suite/launch/launcher.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "base/error.h"

namespace parabench::suite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> program = {"rank", "--plan", "p.json"};

std::string refusal(const std::string& text) {
  try {
    parse_launcher(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST(Launcher, PresetMpirun) {
  EXPECT_THAT(launch_command(parse_launcher("mpirun"), 2, program, {4, false}),
              ElementsAre("mpirun", "-np", "2", "--bind-to", "none", "rank", "--plan", "p.json"));
}

TEST(Launcher, MpirunAsRootOnTooFewCoresSaysWhatItAdds) {
  const auto launcher = parse_launcher("mpirun");
  EXPECT_THAT(launch_command(launcher, 3, program, {2, true}),
              ElementsAre("mpirun", "-np", "3", "--bind-to", "none", "--allow-run-as-root", "--oversubscribe", "rank",
                          "--plan", "p.json"));
  EXPECT_THAT(additions(launcher, 3, {2, true}),
              testing::AllOf(HasSubstr("--oversubscribe"), HasSubstr("3 ranks on 2 cores")));
  EXPECT_EQ(additions(launcher, 2, {2, false}), "");
  EXPECT_EQ(additions(parse_launcher("srun"), 3, {2, true}), "");
}

TEST(Launcher, PresetsSrunAndLocal) {
  EXPECT_THAT(launch_command(parse_launcher("srun"), 8, program, {2, true}),
              ElementsAre("srun", "--mpi=pmix", "--kill-on-bad-exit=1", "-n", "8", "rank", "--plan", "p.json"));
  EXPECT_EQ(launch_command(parse_launcher("local"), 1, program, {2, true}), program);
  EXPECT_THROW(launch_command(parse_launcher("local"), 2, program, {2, true}), Error);
}

TEST(Launcher, KnowsWhereAllRanksAreOfThisHost) {
  const auto under = [](const char* nodes, const std::string& launcher) {
    nodes ? setenv("SLURM_JOB_NUM_NODES", nodes, 1) : unsetenv("SLURM_JOB_NUM_NODES");
    const bool stays = stays_on_this_host(parse_launcher(launcher));
    unsetenv("SLURM_JOB_NUM_NODES");
    return stays;
  };
  EXPECT_TRUE(under(nullptr, "mpirun"));
  EXPECT_TRUE(under("1", "mpirun"));
  EXPECT_FALSE(under("2", "mpirun"));
  EXPECT_TRUE(under("1", "srun"));
  EXPECT_FALSE(under(nullptr, "srun"));  // it asks for an allocation of its own
  EXPECT_TRUE(under("2", "local"));
  EXPECT_FALSE(under(nullptr, "mpirun -np {np} --hostfile hosts {command}"));
}

TEST(Launcher, TemplateKeepsQuotedWords) {
  const auto launcher = parse_launcher("mpirun -n {np} -x 'A=b c' --tag=\"x \\\" y\" {command}");
  EXPECT_THAT(launch_command(launcher, 12, {"rank"}, {2, true}),
              ElementsAre("mpirun", "-n", "12", "-x", "A=b c", "--tag=x \" y", "rank"));
}

TEST(Launcher, RefusesWhatIsNoTemplate) {
  EXPECT_THAT(refusal("mpirum"), HasSubstr("did you mean 'mpirun'?"));
  EXPECT_THAT(refusal("mpiexec -n {np}"), HasSubstr("{command}"));
  EXPECT_THAT(refusal("mpiexec -n '{np} {command}"), HasSubstr("closed quotes"));
}

TEST(Launcher, MissingProgramIsTheEnvironmentsFault) {
  try {
    require_launcher(parse_launcher("no-such-launcher -n {np} {command}"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
  }
  EXPECT_NO_THROW(require_launcher(parse_launcher("local")));
}

TEST(Launcher, ShellLineQuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_line({"a", "b[c=1]", "", "it's"}), "a 'b[c=1]' '' 'it'\\''s'");
}

}  // namespace
}  // namespace parabench::suite
