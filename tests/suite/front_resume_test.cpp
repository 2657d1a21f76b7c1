// Runs that stopped half-way, and what --resume makes of them.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/file.h"
#include "suite/launch/process.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ResumeTest : public FrontTest {
 protected:
  const std::vector<std::string> words_ = {"run", sequential, gpipe, pipedream, "--json", "results.json"};
  std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) const {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> resume() const { return with(words_, {"--resume"}); }
  /// sequential is finished, gpipe runs, pipedream has not begun.
  void kill_during_gpipe() {
    set("FAKE_RANK", "gpipe|measure|hang|-1");
    run_and_signal(words_, "measure " + gpipe, SIGKILL);
    EXPECT_EQ(left_running(), 0);
    set("FAKE_RANK", "");
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
  int scratch_folders() const;
};

TEST_F(ResumeTest, AfterAKillOfTheFrontFinishesTheRestAndMergesAll) {
  kill_during_gpipe();
  EXPECT_FALSE(exists("results.json"));
  ASSERT_TRUE(exists("results.json.journal/head.json"));
  EXPECT_EQ(run({"validate", "results.json.journal/head.json"}).code, 0);

  const Outcome resumed = run(resume());
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("1 of 3 cases was finished before"));
  EXPECT_EQ(count_launches("measure " + sequential), 1);
  EXPECT_EQ(count_launches("measure " + gpipe), 2);
  const auto records = results()["records"];
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0]["id"], sequential);
  EXPECT_EQ(records[2]["id"], pipedream);
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);
  EXPECT_FALSE(exists("results.json.journal"));
}

/// Folders of runs that were not removed, in the folder of temporary files.
int ResumeTest::scratch_folders() const {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path("")))
    count += entry.path().filename().string().starts_with("parabench-");
  return count;
}

TEST_F(ResumeTest, TheScratchFolderOfAKilledRunIsRemoved) {
  kill_during_gpipe();
  ASSERT_EQ(scratch_folders(), 1);
  EXPECT_EQ(run(resume()).code, 0);
  EXPECT_EQ(scratch_folders(), 0);
}

TEST_F(ResumeTest, AScratchFolderInUseOrOfAnotherNameStays) {
  kill_during_gpipe();
  const std::string note = read_text(path("results.json.journal/scratch"));
  const std::string host = note.substr(0, note.find('\t') + 1);
  std::string folder = note.substr(host.size());
  folder.pop_back();
  const pid_t user = fork();
  if (user == 0) {
    execlp("sleep", folder.c_str(), "60", nullptr);
    _exit(127);
  }
  while (processes_carrying(folder).empty()) usleep(10'000);
  // Again killed: what stayed is told of still, beside the folder of that run.
  set("FAKE_RANK", "gpipe|measure|hang|-1");
  const Outcome killed = run_and_signal(resume(), "measure " + gpipe, SIGKILL);
  set("FAKE_RANK", "");
  EXPECT_THAT(killed.err, HasSubstr(folder + " of the run that stopped stays"));
  const std::string both = read_text(path("results.json.journal/scratch"));
  EXPECT_TRUE(both.starts_with(note)) << both;
  EXPECT_EQ(std::ranges::count(both, '\n'), 2);
  EXPECT_TRUE(std::filesystem::exists(folder));
  kill(user, SIGKILL);
  waitpid(user, nullptr, 0);
  EXPECT_EQ(left_running(), 0);
  const Outcome resumed = run(resume());
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(scratch_folders(), 0);

  std::filesystem::create_directories(path("mine"));
  std::filesystem::create_directory_symlink(path("mine"), path("parabench-abcdef"));
  for (const char* other : {"mine", "parabench-abcdef", "parabench-abcdef/../mine"}) {
    std::filesystem::create_directories(path("results.json.journal"));
    write_atomically(path("results.json.journal/scratch"), host + path(other).string() + "\n");
    EXPECT_EQ(run(resume()).code, 0);
    EXPECT_TRUE(std::filesystem::exists(path(other))) << other;
  }

  std::filesystem::create_directories(path("results.json.journal"));
  std::filesystem::create_directories(path("parabench-ghijkl"));
  write_atomically(path("results.json.journal/scratch"), "elsewhere\t" + path("parabench-ghijkl").string() + "\n");
  EXPECT_THAT(run(resume()).err, HasSubstr("of a run on elsewhere stays"));
  EXPECT_TRUE(std::filesystem::exists(path("parabench-ghijkl")));
}

/// A run of sequential and gpipe that was killed in gpipe's second launch of three.
class LaunchesTest : public ResumeTest {
 protected:
  std::vector<std::string> begin(const std::vector<std::string>& more = {}) {
    const std::vector<std::string> words =
        with({"run", sequential, gpipe, "--json", "results.json", "--repetitions", "3"}, more);
    set("FAKE_RANK", "gpipe|measure|second_hangs|0");
    run_and_signal(words, "measure " + gpipe + " again", SIGKILL);
    EXPECT_EQ(left_running(), 0);
    set("FAKE_RANK", "");
    std::filesystem::remove(path("log"));
    return words;
  }
  void change_plan_of_launches() {
    for (const auto& entry : std::filesystem::directory_iterator(path("results.json.journal"))) {
      if (!entry.path().filename().string().starts_with("launch-")) continue;
      auto launch = read_json(entry.path());
      launch["plan"]["hash"] = "0123456789abcdef";
      write_atomically(entry.path(), launch.dump());
    }
  }
};

TEST_F(LaunchesTest, OfACaseThatWasNotFinishedStay) {
  const Outcome resumed = run(with(begin(), {"--resume"}));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("1 of 2 cases was finished before, and 1 launch measured of others"));
  EXPECT_EQ(count_launches("measure " + sequential), 0);
  EXPECT_EQ(count_launches("measure " + gpipe), 2);
  EXPECT_EQ(count_launches("verify"), 0);
  const auto record = results()["records"][1];
  EXPECT_EQ(record["measured"]["step_time_s"]["samples"].size(), 3u);
  EXPECT_EQ(record["equivalence"]["status"], "pass");
  EXPECT_EQ(record["error"]["noise_floor_of"], "launches");
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);
  EXPECT_FALSE(exists("results.json.journal"));
}

TEST_F(LaunchesTest, OfAnInterleavedRunAllStay) {
  const std::vector<std::string> words = begin({"--interleave"});
  const Outcome refused = run(words);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("holds 3 launches of cases that were not finished"));
  EXPECT_THAT(run(with(words, {"--resume", "--steps", "7"})).err, HasSubstr("expected --steps 20, as in"));
  const Outcome resumed = run(with(words, {"--resume"}));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("0 of 2 cases were finished before, and 3 launches measured of others"));
  EXPECT_EQ(count_launches("measure " + sequential), 1);
  EXPECT_EQ(count_launches("measure " + gpipe), 2);
  for (const auto& record : results()["records"]) EXPECT_EQ(record["measured"]["step_time_s"]["samples"].size(), 3u);
}

TEST_F(LaunchesTest, OfAnotherPlanAreMeasuredAnew) {
  const std::vector<std::string> words = begin();
  change_plan_of_launches();
  const Outcome resumed = run(with(words, {"--resume"}));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("1 launch of another plan"));
  EXPECT_EQ(count_launches("measure " + gpipe), 3);
}

TEST_F(LaunchesTest, OfAFailedAttemptAreDropped) {
  const std::vector<std::string> words = begin();
  set("FAKE_RANK", "gpipe|measure|failure|0");
  EXPECT_EQ(run(with(words, {"--resume"})).code, 1);
  EXPECT_EQ(results()["records"][1]["measured"]["step_time_s"]["samples"].size(), 1u);
  set("FAKE_RANK", "");
  std::filesystem::remove(path("log"));
  EXPECT_EQ(run(with(words, {"--resume"})).code, 0);
  EXPECT_EQ(count_launches("measure " + gpipe), 3);
}

TEST_F(ResumeTest, ANewRunRefusesToLoseAnUnfinishedOne) {
  kill_during_gpipe();
  const Outcome refused = run(words_);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("holds 1 finished record"), HasSubstr("--resume")));
  EXPECT_TRUE(exists("results.json.journal/head.json"));
}

TEST_F(ResumeTest, FailedRecordsRunAgainAndOthersDoNot) {
  set("FAKE_RANK", "gpipe|measure|failure|1");
  EXPECT_EQ(run(words_).code, 1);
  EXPECT_EQ(results()["records"][1]["status"], "failed");
  set("FAKE_RANK", "");
  EXPECT_EQ(run(resume()).code, 0);
  EXPECT_EQ(results()["records"][1]["status"], "ok");
  EXPECT_EQ(count_launches("verify " + sequential), 1);
  EXPECT_EQ(count_launches("verify " + gpipe), 2);
}

TEST_F(ResumeTest, NothingIsCalibratedForWhatIsFinished) {
  run({"run", sequential, "--json", "results.json"});
  std::filesystem::remove_all(path("cache"));
  const Outcome resumed = run({"run", sequential, "--json", "results.json", "--resume"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(count_launches("calibrate " + sequential), 1);
}

TEST_F(ResumeTest, WithNothingToGoOnWithIsARun) {
  EXPECT_EQ(run(resume()).code, 0);
  EXPECT_EQ(results()["records"].size(), 3u);
  const std::string before = read_text(path("log"));
  EXPECT_EQ(run(resume()).code, 0);
  EXPECT_EQ(read_text(path("log")), before);
}

TEST_F(ResumeTest, MoreCasesMayFollowButNoneMayBeLost) {
  ASSERT_EQ(run({"run", sequential, "--json", "results.json"}).code, 0);
  EXPECT_EQ(run(resume()).code, 0);
  const Outcome refused = run({"run", gpipe, "--json", "results.json", "--resume"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr(sequential));
  EXPECT_EQ(results()["records"].size(), 3u);
}

TEST_F(ResumeTest, OtherOptionsAreRefusedWithTheDifference) {
  kill_during_gpipe();
  const Outcome refused = run(with(resume(), {"--steps", "7"}));
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--resume: got '--steps 7', expected --steps 20, as in results.json.journal"));
  EXPECT_THAT(run(with(resume(), {"--data", path(".")})).err, HasSubstr("', expected none of its own, as in"));
  EXPECT_EQ(run(resume()).code, 0);
}

TEST_F(ResumeTest, AnotherMachineOrBuildIsRefusedWithTheDifference) {
  kill_during_gpipe();
  auto head = read_json(path("results.json.journal/head.json"));
  const auto refuse = [&](const nlohmann::json& changed, const std::string& text) {
    write_atomically(path("results.json.journal/head.json"), changed.dump());
    const Outcome refused = run(resume());
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr(text));
  };
  auto changed = head;
  changed["context"]["hosts"][0]["cpu"] = "Z80";
  refuse(changed, "Z80");
  changed = head;
  changed["program"]["git"] = "0123abc";
  refuse(changed, "0123abc");
  write_atomically(path("results.json.journal/head.json"), head.dump());
  EXPECT_EQ(run(resume()).code, 0);
}

TEST_F(ResumeTest, ADamagedRecordIsMadeAnew) {
  kill_during_gpipe();
  for (const auto& entry : std::filesystem::directory_iterator(path("results.json.journal")))
    if (entry.path().filename().string().starts_with("record-")) std::filesystem::resize_file(entry.path(), 100);
  const Outcome resumed = run(resume());
  EXPECT_EQ(resumed.code, 0);
  EXPECT_THAT(resumed.err, HasSubstr("a record that cannot be read is made anew"));
  EXPECT_EQ(count_launches("measure " + sequential), 2);
}

TEST_F(ResumeTest, TwoRunsDoNotWriteOneFile) {
  std::filesystem::create_directory(path("results.json.journal"));
  const int lock = open(path("results.json.journal/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  const Outcome refused = run(words_);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("no other parabench is writing"));
  EXPECT_TRUE(launches().empty());
  close(lock);
  EXPECT_EQ(run(words_).code, 0);
}

TEST_F(ResumeTest, ResumeNeedsAFile) {
  const Outcome refused = run({"run", gpipe, "--resume"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--json FILE"));
}

}  // namespace
}  // namespace parabench::suite
