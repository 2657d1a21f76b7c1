// Launches that crash, hang, lie or are interrupted: a failed record, nothing left behind, the rest goes on.
#include <signal.h>

#include "tests/base/sanitized.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Longer than a sound launch takes.
constexpr const char* soon = under_sanitizer ? "20s" : "500ms";

class FailureTest : public FrontTest {
 protected:
  /// gpipe misbehaves, sequential is sound and runs after it.
  nlohmann::json fail(const std::string& rule, const std::vector<std::string>& more = {}) {
    set("FAKE_RANK", rule);
    std::vector<std::string> words = {"run", gpipe, sequential, "--json", "results.json", "--repetitions", "2"};
    words.insert(words.end(), more.begin(), more.end());
    outcome_ = run(words);
    EXPECT_EQ(left_running(), 0);
    const auto document = results();
    EXPECT_EQ(run({"validate", "results.json"}).code, 0);
    EXPECT_EQ(document["records"].size(), 2u);
    EXPECT_EQ(document["records"][0]["status"], "failed");
    EXPECT_EQ(document["records"][1]["status"], "ok");
    return document["records"][0];
  }
  std::string reason(const nlohmann::json& record) { return record["reason"].get<std::string>(); }

  Outcome outcome_;
};

TEST_F(FailureTest, ARankThatReportsItsError) {
  const auto record = fail("gpipe|measure|failure|1");
  EXPECT_EQ(outcome_.code, 1);
  EXPECT_EQ(reason(record), "measure 1/2: rank 1: told to fail with failure");
  EXPECT_EQ(count_launches("measure " + gpipe), 1);
  EXPECT_THAT(outcome_.out, HasSubstr("told to fail"));
}

TEST_F(FailureTest, BadInputAndLackingEnvironmentKeepTheirCodes) {
  fail("gpipe|measure|usage|0");
  EXPECT_EQ(outcome_.code, 2);
  fail("gpipe|verify|environment|0");
  EXPECT_EQ(outcome_.code, 4);
}

TEST_F(FailureTest, AnExitWithoutAnErrorFileShowsTheLastLines) {
  EXPECT_THAT(reason(fail("gpipe|measure|exit|-1")), AllOf(HasSubstr("code 7"), HasSubstr("last words of the launch")));
  EXPECT_EQ(outcome_.code, 1);
}

TEST_F(FailureTest, AKilledRank) {
  EXPECT_THAT(reason(fail("gpipe|measure|kill|1")), HasSubstr("137"));
  EXPECT_EQ(outcome_.code, 1);
}

TEST_F(FailureTest, ACrashedRank) {
  EXPECT_THAT(reason(fail("gpipe|verify|crash|0")), HasSubstr("verify: "));
  EXPECT_EQ(count_launches("measure " + gpipe), 0);
}

TEST_F(FailureTest, AHungRankTimesOut) {
  EXPECT_THAT(reason(fail("gpipe|measure|hang|1", {"--timeout", soon})), HasSubstr("timed out"));
  EXPECT_EQ(outcome_.code, 1);
}

TEST_F(FailureTest, AStoppedRankIsNoticedLongBeforeTheTimeOut) {
  const auto begin = std::chrono::steady_clock::now();
  const auto record = fail("gpipe|measure|stop|1", {"--timeout", "1h"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  EXPECT_THAT(reason(record), AllOf(HasSubstr("was stopped"), HasSubstr("SIGSTOP")));
}

TEST_F(FailureTest, AFailedCaseIsTriedAgainWithinItsRetries) {
  set("FAKE_RANK", "gpipe|measure|first_fails|0");
  EXPECT_EQ(run({"run", gpipe, "--retries", "1", "--json", "results.json"}).code, 0);
  const auto record = results()["records"].at(0);
  EXPECT_EQ(record["status"], "ok");
  ASSERT_EQ(record["earlier_failures"].size(), 1u);
  EXPECT_THAT(record["earlier_failures"][0].get<std::string>(), HasSubstr("told to fail"));
  EXPECT_EQ(count_launches("verify"), 2);
}

TEST_F(FailureTest, WhatTrainsSomethingElseIsNotTriedAgain) {
  set("FAKE_RANK", "gpipe|verify|unequal|0");
  EXPECT_EQ(run({"run", gpipe, "--retries", "3"}).code, 1);
  EXPECT_EQ(count_launches("verify"), 1);
}

TEST_F(FailureTest, ARankThatIgnoresTermIsKilled) {
  EXPECT_THAT(reason(fail("gpipe|measure|stubborn|-1", {"--timeout", soon})), HasSubstr("timed out"));
}

TEST_F(FailureTest, ALossThatIsNoNumber) {
  EXPECT_THAT(reason(fail("gpipe|measure|nan|0")), HasSubstr("finite number at step 1"));
  EXPECT_THAT(reason(fail("gpipe|measure|not_a_number|1")), HasSubstr("rank 1"));
  EXPECT_EQ(outcome_.code, 1);
}

TEST_F(FailureTest, ALossThatDiffersFromTheReferences) {
  const auto record = fail("gpipe|measure|loss|0");
  EXPECT_EQ(outcome_.code, 1);
  EXPECT_EQ(record["equivalence"]["loss_agrees"], false);
  EXPECT_THAT(record["equivalence"]["reason"].get<std::string>(), HasSubstr("step 1"));
}

TEST_F(FailureTest, AnUnequalUpdateIsNotMeasured) {
  const auto record = fail("gpipe|verify|unequal|0");
  EXPECT_EQ(outcome_.code, 1);
  EXPECT_EQ(record["equivalence"]["status"], "fail");
  EXPECT_EQ(reason(record), "not equivalent to sequential training");
  EXPECT_THAT(outcome_.err, HasSubstr("conv1.weight"));
  EXPECT_EQ(count_launches("measure " + gpipe), 0);
}

TEST_F(FailureTest, RepliesThatAreNone) {
  EXPECT_THAT(reason(fail("gpipe|measure|truncated|0")), HasSubstr("reply.json"));
  EXPECT_THAT(reason(fail("gpipe|measure|silent|0")), HasSubstr("exited with code 0 and left no reply"));
  EXPECT_THAT(reason(fail("gpipe|measure|foreign|0")), HasSubstr("plan_hash"));
  EXPECT_THAT(reason(fail("gpipe|measure|steps|0")), HasSubstr("21 steps, not the 20 that were asked for"));
}

TEST_F(FailureTest, AFailedCalibrationLeavesTheDataSheet) {
  set("FAKE_RANK", "gpipe|calibrate|failure|0");
  const Outcome outcome = run({"run", gpipe, "--json", "results.json"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("the data sheet predicts instead"));
  EXPECT_EQ(results()["records"][0]["predicted"]["terms"][0]["cost_source"], "data-sheet");
}

TEST_F(FailureTest, FailFastStopsAndSaysSo) {
  set("FAKE_RANK", "gpipe|verify|failure|0");
  EXPECT_EQ(run({"run", gpipe, sequential, "--fail-fast", "--json", "results.json"}).code, 1);
  const auto records = results()["records"];
  EXPECT_EQ(records[1]["status"], "skipped");
  EXPECT_THAT(reason(records[1]), HasSubstr("--fail-fast"));
  EXPECT_EQ(count_launches("measure"), 0);
}

TEST_F(FailureTest, OneCtrlCFinishesTheRecord) {
  set("FAKE_RANK", "gpipe|measure|slow|0");
  const Outcome outcome = run_and_signal({"run", gpipe, sequential, "--json", "results.json", "--repetitions", "2"},
                                         "measure " + gpipe, SIGINT);
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("finishing this case; Ctrl-C again stops at once"),
                                 HasSubstr("1 of 2 cases did not run; the same command with --resume goes on")));
  const auto records = results()["records"];
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0]["status"], "ok");
  EXPECT_EQ(records[0]["measured"]["step_time_s"]["samples"].size(), 2u);
  EXPECT_EQ(records[0]["measured"]["stopped_by"], "repetitions");
  // The same line without --resume must not replace what is finished.
  const Outcome again = run({"run", gpipe, sequential, "--json", "results.json", "--repetitions", "2"});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, AllOf(HasSubstr("holds 1 finished record"), HasSubstr("--resume goes on with it")));
  EXPECT_EQ(results()["records"].size(), 1u);
}

TEST_F(FailureTest, AnInterruptedRunWhoseCasesAllFinishedIsComplete) {
  set("FAKE_RANK", "gpipe|measure|slow|0");
  const Outcome outcome = run_and_signal({"run", gpipe, "--json", "results.json", "--fom"}, "measure " + gpipe, SIGINT);
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.out, HasSubstr("PARABENCH_RESULT: PASS"));
  EXPECT_FALSE(std::filesystem::exists(path("results.json.journal")));
}

TEST_F(FailureTest, ARecordThatWasCutShortKeepsItsSamplesAndDoesNotCount) {
  set("FAKE_RANK", "gpipe|measure|second_hangs|0");
  const Outcome outcome = run_and_signal({"run", gpipe, "--json", "results.json", "--repetitions", "3"},
                                         "measure " + gpipe + " again", SIGINT, 2);
  EXPECT_EQ(outcome.code, 130);
  const auto record = results()["records"].at(0);
  EXPECT_EQ(record["status"], "failed");
  EXPECT_THAT(reason(record), HasSubstr("interrupted during measure 2/3; measured launches: 1"));
  EXPECT_EQ(record["measured"]["step_time_s"]["samples"].size(), 1u);
  EXPECT_EQ(record["measured"]["stopped_by"], "interruption");
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("1 of 1 case did not run to its end; the same command with --resume goes on"));
  set("FAKE_RANK", "");
  const Outcome again = run({"run", gpipe, "--json", "results.json", "--repetitions", "3"});
  EXPECT_THAT(again.err, HasSubstr("holds 1 launch of cases that were not finished"));
  EXPECT_EQ(run({"run", gpipe, "--json", "results.json", "--repetitions", "3", "--resume"}).code, 0);
  EXPECT_EQ(count_launches("verify"), 1);
}

TEST_F(FailureTest, OneCtrlCEndsAnInterleavedRunAfterItsLaunch) {
  set("FAKE_RANK", "sequential|measure|slow|0");
  const std::vector<std::string> words = {"run",    gpipe,          sequential,      pipedream, "--interleave",
                                          "--json", "results.json", "--repetitions", "2"};
  const Outcome outcome = run_and_signal(words, "measure " + sequential, SIGINT);
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("finishing this launch; Ctrl-C again stops at once"),
                                 HasSubstr("3 of 3 cases did not run to their end; the same command with --resume")));
  const auto records = results()["records"];
  ASSERT_EQ(records.size(), 2u);
  for (const auto& record : records) {
    EXPECT_EQ(reason(record), "interrupted; measured launches: 1");
    EXPECT_EQ(record["measured"]["step_time_s"]["samples"].size(), 1u);
    EXPECT_EQ(record["measured"]["stopped_by"], "interruption");
  }
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);
  std::vector<std::string> resume = words;
  resume.emplace_back("--resume");
  EXPECT_EQ(run(resume).code, 0);
  for (const std::string& id : {gpipe, sequential, pipedream}) EXPECT_EQ(count_launches("measure " + id), 2) << id;
  EXPECT_EQ(results()["records"].size(), 3u);
}

TEST_F(FailureTest, AnInterleavedCaseThatIsTriedAgainBeginsAnewAndOthersGoOn) {
  set("FAKE_RANK", "gpipe|measure|first_fails|0");
  const Outcome outcome =
      run({"run", gpipe, sequential, "--interleave", "--repetitions", "2", "--retries", "1", "--json", "results.json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto records = results()["records"];
  EXPECT_EQ(records[0]["earlier_failures"].size(), 1u);
  EXPECT_EQ(records[0]["measured"]["step_time_s"]["samples"].size(), 2u);
  EXPECT_TRUE(records[1]["earlier_failures"].is_null() || records[1]["earlier_failures"].empty());
  EXPECT_EQ(count_launches("measure " + gpipe), 3);
  EXPECT_EQ(count_launches("measure " + sequential), 2);
}

TEST_F(FailureTest, FailFastEndsInterleavedCasesAndKeepsTheirLaunches) {
  set("FAKE_RANK", "gpipe|verify|failure|0");
  std::vector<std::string> words = {"run",           sequential, gpipe,    "--interleave", "--fail-fast",
                                    "--repetitions", "2",        "--json", "results.json"};
  EXPECT_EQ(run(words).code, 1);
  EXPECT_EQ(reason(results()["records"][0]), "not run to its end: an earlier case failed (--fail-fast)");
  set("FAKE_RANK", "");
  words.emplace_back("--resume");
  EXPECT_EQ(run(words).code, 0);
  EXPECT_EQ(count_launches("measure " + sequential), 2);
}

TEST_F(FailureTest, ASkippedCaseDoesNotMakeAnInterruptedRunUnfinished) {
  set("FAKE_RANK", "gpipe|measure|slow|0");
  const std::string skipped = "^resnet18/imagenet/gpipe/np:2/batch:32$";
  const std::string last = "^resnet34/cifar10-synthetic/gpipe/np:2/batch:64$";
  const Outcome outcome =
      run_and_signal({"run", "--filter", skipped + "|" + last, "--json", "results.json"}, "measure resnet34", SIGINT);
  EXPECT_EQ(outcome.code, 130);
  const auto records = results()["records"];
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["status"], "skipped");
  EXPECT_THAT(outcome.err, Not(HasSubstr("did not run")));
  EXPECT_FALSE(std::filesystem::exists(path("results.json.journal")));
}

TEST_F(FailureTest, TwoCtrlCKeepFinishedResultsAndLeaveNoProcess) {
  set("FAKE_RANK", "gpipe|measure|stubborn|-1");
  const Outcome outcome =
      run_and_signal({"run", sequential, gpipe, pipedream, "--json", "results.json"}, "measure " + gpipe, SIGINT, 2);
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(left_running(), 0);
  const auto records = results()["records"];
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["status"], "ok");
  EXPECT_EQ(records[1]["status"], "failed");
  EXPECT_THAT(reason(records[1]), HasSubstr("interrupted"));
  EXPECT_THAT(outcome.out, HasSubstr("sequential/np:1/batch:8"));
  EXPECT_EQ(count_launches("verify " + pipedream), 0);
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);
}

TEST_F(FailureTest, WithoutAFileAnInterruptedRunSaysWhatIsMissingAndPromisesNothing) {
  set("FAKE_RANK", "gpipe|measure|slow|0");
  const Outcome outcome = run_and_signal({"run", gpipe, sequential}, "measure " + gpipe, SIGINT);
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("1 of 2 cases did not run"), Not(HasSubstr("--resume"))));
}

TEST_F(FailureTest, CtrlCDuringTheCalibration) {
  set("FAKE_RANK", "gpipe|calibrate|hang|-1");
  const Outcome outcome = run_and_signal({"run", gpipe}, "calibrate " + gpipe, SIGTERM);
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(left_running(), 0);
}

}  // namespace
}  // namespace parabench::suite
