#include "suite/launch/launcher.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "base/error.h"
#include "base/host_name.h"

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

/// As inside a job on several hosts.
LaunchHost two_hosts() { return {2, false, {.job = "Slurm job 1", .hosts = {"n1", "n2"}, .slots = 2, .cpus = 4}}; }

TEST(Launcher, MpirunInAJobOnSeveralHostsNoticesALostOne) {
  const auto launcher = parse_launcher("mpirun");
  EXPECT_THAT(launch_command(launcher, 3, program, two_hosts()),
              testing::IsSupersetOf({"--oversubscribe", "oob_tcp_keepalive_time"}));
  EXPECT_THAT(additions(launcher, 3, two_hosts()),
              testing::AllOf(HasSubstr("3 ranks on 2 slots of the job"), HasSubstr("lost host")));
}

TEST(Launcher, PresetsSrunAndLocal) {
  EXPECT_THAT(launch_command(parse_launcher("srun"), 4, program, two_hosts()),
              ElementsAre("srun", "--mpi=pmix", "--kill-on-bad-exit=1", "--cpu-bind=none", "-n", "4", "rank", "--plan",
                          "p.json"));
  EXPECT_THAT(launch_command(parse_launcher("srun"), 5, program, two_hosts()), testing::Contains("--overcommit"));
  EXPECT_THAT(additions(parse_launcher("srun"), 5, two_hosts()), HasSubstr("5 ranks on 4 processors of the job"));
  EXPECT_EQ(launch_command(parse_launcher("local"), 1, program, {2, true}), program);
  EXPECT_THROW(launch_command(parse_launcher("local"), 2, program, {2, true}), Error);
}

TEST(Launcher, KnowsWhereAllRanksAreOfThisHost) {
  const auto under = [](const char* nodes, const std::string& launcher) {
    if (nodes) {
      setenv("SLURM_JOB_ID", "1", 1);
      setenv("SLURM_JOB_NODELIST", nodes, 1);
    }
    const bool stays = stays_on_this_host(parse_launcher(launcher));
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_JOB_NODELIST");
    return stays;
  };
  EXPECT_TRUE(under(nullptr, "mpirun"));
  EXPECT_TRUE(under(host_name().c_str(), "mpirun"));
  EXPECT_FALSE(under("n[1-2]", "mpirun"));
  EXPECT_FALSE(under("another", "mpirun"));  // salloc on a login host
  EXPECT_TRUE(under(host_name().c_str(), "srun"));
  EXPECT_FALSE(under(nullptr, "srun"));  // it asks for an allocation of its own
  EXPECT_TRUE(under("n[1-2]", "local"));
  EXPECT_FALSE(under(nullptr, "mpirun -np {np} --hostfile hosts {program}"));
}

TEST(Launcher, TemplateTakesHostsAndBothWordsForTheProgram) {
  for (const char* text : {"mpirun -np {np} --host {hosts} {program}", "mpirun -np {np} --host {hosts} {command}"})
    EXPECT_THAT(launch_command(parse_launcher(text), 2, {"rank"}, two_hosts()),
                ElementsAre("mpirun", "-np", "2", "--host", "n1,n2", "rank"));
  EXPECT_THAT(launch_command(parse_launcher("./start --n={np}of{np} {program}"), 2, {"rank"}, two_hosts()),
              ElementsAre("./start", "--n=2of2", "rank"));
}

TEST(Launcher, TemplateKeepsQuotedWords) {
  const auto launcher = parse_launcher("mpirun -n {np} -x 'A=b c' --tag=\"x \\\" y\" {program}");
  EXPECT_THAT(launch_command(launcher, 12, {"rank"}, {2, true}),
              ElementsAre("mpirun", "-n", "12", "-x", "A=b c", "--tag=x \" y", "rank"));
}

TEST(Launcher, RefusesWhatIsNoTemplate) {
  EXPECT_THAT(refusal("mpirum"), HasSubstr("did you mean 'mpirun'?"));
  EXPECT_THAT(refusal("mpiexec -n {np}"), HasSubstr("{program}"));
  EXPECT_THAT(refusal("mpiexec -n '{np} {program}"), HasSubstr("closed quotes"));
}

TEST(Launcher, MissingProgramIsTheEnvironmentsFault) {
  try {
    require_launcher(parse_launcher("no-such-launcher -n {np} {program}"));
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
