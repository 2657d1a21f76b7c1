// What --dry-run promises against what a run launches.
#include <gmock/gmock.h>

#include <map>
#include <sstream>

#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

/// The word after `option` in a line; quotes of the shell dropped.
std::string word_after(const std::string& line, const std::string& option) {
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word != option || !(words >> word)) continue;
    std::erase(word, '\'');
    return word;
  }
  return "";
}

class DryRunTest : public FrontTest {
 protected:
  /// "PHASE ID" of every launch that the script of --dry-run would make.
  Words promised(const Words& arguments) {
    Words words = {"run"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.push_back("--dry-run");
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::istringstream script(outcome.out);
    Words launches;
    std::map<std::string, std::string> ids;  // by plan file
    for (std::string line; std::getline(script, line);) {
      const std::string phase = word_after(line, "--phase");
      if (const std::string id = word_after(line, "calibrate"); !id.empty()) launches.push_back("calibrate " + id);
      if (const std::string id = word_after(line, "plan"); !id.empty()) ids[word_after(line, ">")] = id;
      if (!phase.empty()) launches.push_back(phase + " " + ids.at(word_after(line, "--plan")));
    }
    return launches;
  }
  /// The same of a run.
  Words done(const Words& arguments) {
    std::filesystem::remove(path("log"));
    Words words = {"run"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    Words made;
    for (const std::string& line : launches()) {
      std::istringstream fields(line);
      std::string phase, id;
      fields >> phase >> id;
      if (phase != "probe") made.push_back(phase + " " + id);
    }
    return made;
  }
};

const std::vector<Words> chosen_cases = {
    {gpipe},
    {gpipe, gpipe + "/lr:0.1", sequential},
    {small + "gpipe/np:2/batch:64", gpipe, small + "1f1b/np:2/batch:64"},
    {gpipe, small + "data-parallel/np:2/batch:8", pipedream, small + "pipedream[replicas=auto]/np:2/batch:8"},
    {small + "gpipe/np:2/batch:8/comm:threads", small + "zb-v/np:2/batch:8/comm:threads"},
};
const std::vector<Words> chosen_options = {{},
                                           {"--verify", "off"},
                                           {"--verify", "only"},
                                           {"--repetitions", "3"},
                                           {"--repetitions", "2", "--interleave", "--paired"},
                                           {"--verify", "only", "--repetitions", "2"},
                                           {"--verify", "off", "--steps", "3", "--warmup", "0", "--trace", "traces"}};

TEST_F(DryRunTest, PromisesWhatARunLaunches) {
  for (std::size_t i = 0; i < chosen_cases.size() * chosen_options.size(); ++i) {
    const Words& options = chosen_options[i % chosen_options.size()];
    const std::size_t cases = i / chosen_options.size();
    if (cases > 1 && !options.empty()) continue;
    set("XDG_CACHE_HOME", path("cache-" + std::to_string(i)));
    Words arguments = chosen_cases[cases];
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Words before = promised(arguments);
    EXPECT_EQ(before, done(arguments)) << testing::PrintToString(arguments) << " on a machine that nobody measured";
    EXPECT_EQ(promised(arguments), done(arguments)) << testing::PrintToString(arguments) << " the second time";
  }
}

TEST_F(DryRunTest, CalibratesAsTheRunLaunches) {
  const Outcome usual = run({"run", gpipe, "--dry-run"});
  const Outcome other = run({"run", gpipe, "--launcher", "mpirun -np {np} {program}", "--timeout", "300", "--dry-run"});
  const auto first_line = [](const Outcome& outcome) { return outcome.out.substr(0, outcome.out.find('\n')); };
  EXPECT_THAT(first_line(usual), Not(HasSubstr("--")));
  EXPECT_THAT(first_line(other), HasSubstr("--launcher 'mpirun -np {np} {program}'"));
  EXPECT_EQ(word_after(first_line(other), "--timeout"), "300s");
  std::filesystem::create_directories(path("data"));
  const Outcome read = run({"run", "resnet18/cifar10/gpipe/np:2/batch:8", "--data", path("data"), "--dry-run"});
  EXPECT_EQ(word_after(first_line(read), "--data"), path("data"));
}

TEST_F(DryRunTest, NeedsNeitherRankProgramNorLauncher) {
  const Words before = promised({gpipe, sequential});
  without_rank_program();
  std::filesystem::remove(path("bin/mpirun"));
  set("PATH", path("bin"));
  EXPECT_EQ(promised({gpipe, sequential}), before);
  const Outcome outcome = run({"run", gpipe, "--dry-run"});
  EXPECT_THAT(outcome.out, HasSubstr(" parabench-rank --phase measure"));
  EXPECT_THAT(outcome.err, HasSubstr("PARABENCH_PRESET=default ./parabench doctor builds it"));
  EXPECT_THAT(run({"run", gpipe}).err, HasSubstr("type: PARABENCH_PRESET=default ./parabench doctor"));
}

TEST_F(DryRunTest, RefusesWhatNoMachineRunsWhateverThisOneLacks) {
  const Outcome outcome =
      run({"run", "transformer[layers=8]/tokens-synthetic/data-parallel/np:4/batch:8/device:cuda/tp:2", "--dry-run"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("tp: got '2'"));
}

TEST_F(DryRunTest, CalibratesOnceWhatCasesShareAndNothingToVerifyOnly) {
  EXPECT_THAT(promised({gpipe, gpipe + "/lr:0.1", "--verify", "off"}),
              ElementsAre("calibrate " + gpipe, "measure " + gpipe, "measure " + gpipe + "/lr:0.1"));
  EXPECT_THAT(promised({gpipe, "--verify", "only"}), ElementsAre("verify " + gpipe));
}

TEST_F(DryRunTest, ReproduceNamesEveryOptionThatChangesARun) {
  ASSERT_EQ(run({"run", gpipe, "--verify", "off", "--steps", "3", "--timeout", "2min", "--force", "--json",
                 "results.json", "--fail-fast", "--skip-corrupt"})
                .code,
            0);
  const std::string line = results()["records"][0]["reproduce"];
  for (const char* part :
       {"--steps 3", "--warmup 5", "--repetitions 1", "--verify off", "--timeout 120s", "--force", "--skip-corrupt"}) {
    EXPECT_THAT(line, HasSubstr(part));
  }
  for (const char* part : {"--json", "--fail-fast", "--launcher"}) EXPECT_THAT(line, Not(HasSubstr(part)));
}

}  // namespace
}  // namespace parabench::suite
