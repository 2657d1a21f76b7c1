// Passes over a set of cases, and the judgement over them.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>

#include "base/file.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using AccuracyTest = FrontTest;

TEST_F(AccuracyTest, RunsEveryPassOnceAndVerifiesInTheFirst) {
  const Outcome outcome = run({"accuracy", gpipe, "--passes", "2", "--out", "acc", "--steps", "5"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(count_launches("verify"), 1);
  EXPECT_EQ(count_launches("measure"), 2);
  EXPECT_EQ(count_launches("paired"), 2);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("1 case in up to 2 passes"), HasSubstr("forecast"), HasSubstr("paired"),
                                 HasSubstr("noise"), HasSubstr("gpipe")));
  EXPECT_EQ(run({"validate", "acc/pass-2.json"}).code, 0);
  const std::size_t before = launches().size();
  EXPECT_EQ(run({"accuracy", gpipe, "--passes", "2", "--out", "acc", "--steps", "5"}).out, outcome.out);
  EXPECT_EQ(launches().size(), before) << "what is there is not run again";
}

TEST_F(AccuracyTest, JudgesWhatIsThereForProgramsToo) {
  ASSERT_EQ(run({"accuracy", gpipe, "--passes", "1", "--out", "acc", "--steps", "5"}).code, 0);
  const json judged = json::parse(run({"accuracy", "--out", "acc", "--judge", "--format", "json"}).out);
  ASSERT_EQ(judged["cases"].size(), 1u);
  EXPECT_EQ(judged["cases"][0]["id"], gpipe);
  EXPECT_TRUE(judged["cases"][0]["paired"].is_number());
  EXPECT_EQ(judged["figures"]["forecast"]["cases"], 1);
  EXPECT_EQ(judged["figures"]["forecast"]["mean_ci95"], nullptr) << "of a single case";
  const Outcome others = run({"accuracy", small + "1f1b/np:2/batch:8", "--out", "acc", "--judge"});
  EXPECT_EQ(others.code, 3);
  EXPECT_THAT(others.err, AllOf(HasSubstr("expected passes in which a chosen case counts"),
                                HasSubstr("report acc/pass-1.json --out report shows what they hold, and why")));
  EXPECT_THAT(run({"accuracy", "--out", "acc", "--judge", "--format", "csv"}).out, StartsWith("id,passes,measured_s,"));
  EXPECT_THAT(run({"accuracy", "--out", "acc", "--judge", "--format", "markdown"}).out,
              AllOf(StartsWith("1 case in up to 1 pass; "), HasSubstr("\n| forecast | 1 | "),
                    HasSubstr("\n| **`" + small + "`** |\n| `gpipe/np:2/batch:8` | ")));
}

TEST_F(AccuracyTest, EveryPassIsCalibratedByItselfAndJudgedFromLess) {
  const std::vector<std::string> words = {
      "accuracy", gpipe, small + "data-parallel/np:2/batch:8", "--passes", "2", "--out", "acc", "--steps", "5"};
  ASSERT_EQ(run(words).code, 0);
  EXPECT_EQ(count_launches("calibrate " + gpipe), 2);
  EXPECT_TRUE(std::filesystem::exists(path("acc/pass-2.calibration.json")));
  json calibration = read_json(path("acc/pass-1.calibration.json"));
  for (json& launch : calibration["launches"]) launch["date"] = "2025-12-31T20:00:00Z";
  write_atomically(path("acc/pass-1.calibration.json"), calibration.dump());
  const Outcome outcome = run({"accuracy", "--out", "acc", "--judge", "--format", "json", "--ablate"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json judged = json::parse(outcome.out);
  for (const json& one : judged["cases"]) {
    EXPECT_NEAR(one["held_out"].get<double>(), one["forecast"].get<double>(), 1e-9) << "its own samples have no row";
    EXPECT_NEAR(one["stale"].get<double>(), one["forecast"].get<double>(), 1e-9) << "the machine has not changed";
  }
  EXPECT_EQ(judged["choices"]["groups"], 1);
  EXPECT_EQ(judged["choices"]["choices"][0]["candidates"], 2);
  EXPECT_EQ(judged["ablations"][0]["without"], "nothing");
  EXPECT_NEAR(judged["ablations"][0]["mean"], judged["figures"]["forecast"]["mean"], 1e-9);
  EXPECT_THAT(run({"accuracy", "--out", "acc", "--judge", "--ablate"}).out,
              AllOf(HasSubstr("held-out"), HasSubstr("stale"), HasSubstr("picks the measured best in "),
                    HasSubstr("forecast without")));
  for (const char* format : {"csv", "markdown"})
    EXPECT_EQ(run({"accuracy", "--out", "acc", "--judge", "--ablate", "--format", format}).code, 2) << format;
}

TEST_F(AccuracyTest, KeepsPairedRoundsAndPredictsThemAnew) {
  ASSERT_EQ(run({"accuracy", gpipe, "--passes", "1", "--out", "acc", "--steps", "5"}).code, 0);
  const auto judged = [&](const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"accuracy", "--out", "acc", "--judge", "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return json::parse(run(words).out);
  };
  const json before = judged();
  const double recorded = read_json(path("acc/pass-1.json"))["records"][0]["error"]["paired_step_time_relative"];
  EXPECT_NEAR(before["cases"][0]["paired"], recorded, 1e-9);
  const std::filesystem::path rounds = std::filesystem::directory_iterator(path("acc/pass-1.rounds"))->path();
  json kept = read_json(rounds);
  for (json& round : kept["rounds"])
    for (json& step : round["step_s"]) step = 2 * step.get<double>();
  write_atomically(rounds, kept.dump());
  EXPECT_NEAR(judged()["cases"][0]["paired"], (1 + recorded) / 2 - 1, 1e-9);
  EXPECT_EQ(judged({"--ablate"})["ablations"][0]["paired"]["cases"], 1);
  EXPECT_THAT(run({"accuracy", "--out", "acc", "--judge", "--ablate"}).out, HasSubstr("paired without"));
  write_atomically(rounds, "{");
  EXPECT_EQ(run({"accuracy", "--out", "acc", "--judge"}).code, 2);
  std::filesystem::remove(rounds);
  EXPECT_NEAR(judged()["cases"][0]["paired"], recorded, 1e-9) << "as it was when it ran";
}

TEST_F(AccuracyTest, APassWithoutWhatItsPredictionsWereMadeFromIsNamed) {
  ASSERT_EQ(run({"accuracy", gpipe, "--passes", "1", "--out", "acc", "--steps", "5"}).code, 0);
  const std::vector<std::string> judge = {"accuracy", "--out", "acc", "--judge"};
  EXPECT_THAT(run(judge).err, Not(HasSubstr("is not there")));
  std::filesystem::remove_all(path("acc/pass-1.rounds"));
  EXPECT_THAT(run(judge).err,
              HasSubstr("acc/pass-1.rounds is not there: paired predictions of pass 1 are those of its"));
  std::filesystem::remove(path("acc/pass-1.calibration.json"));
  EXPECT_THAT(run(judge).err, HasSubstr("acc/pass-1.calibration.json is not there: pass 1 has the predictions of its"));
  const json judged = json::parse(run({"accuracy", "--out", "acc", "--judge", "--format", "json"}).out);
  EXPECT_TRUE(judged["cases"][0]["ddlbench"].is_number()) << "as it was when it ran";
  EXPECT_EQ(judged["cases"][0]["held_out"], nullptr);
}

TEST_F(AccuracyTest, AFolderOfOtherCasesIsRefused) {
  ASSERT_EQ(run({"accuracy", gpipe, "--passes", "1", "--out", "acc", "--steps", "5"}).code, 0);
  const std::size_t before = launches().size();
  const Outcome outcome = run({"accuracy", sequential, "--passes", "2", "--out", "acc", "--steps", "5"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("--out: got 'acc', expected a folder whose passes hold some of the 1 chosen"),
                    HasSubstr("--judge judges what is there")));
  EXPECT_EQ(launches().size(), before);
}

TEST_F(AccuracyTest, JudgingTakesNoOptionOfRuns) {
  for (const std::vector<std::string>& option : {std::vector<std::string>{"--passes", "2"}, {"--steps", "5"}}) {
    std::vector<std::string> words = {"accuracy", "--out", "acc", "--judge"};
    words.insert(words.end(), option.begin(), option.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(option.front()), HasSubstr("--judge")));
  }
}

TEST_F(AccuracyTest, PassesOfSeveralFoldersAreJudgedTogether) {
  ASSERT_EQ(run({"accuracy", gpipe, sequential, "--passes", "1", "--out", "one", "--steps", "5"}).code, 0);
  ASSERT_EQ(run({"accuracy", gpipe, "--passes", "1", "--out", "two", "--steps", "5"}).code, 0);
  json calibration = read_json(path("one/pass-1.calibration.json"));
  for (json& launch : calibration["launches"]) launch["date"] = "2025-12-31T20:00:00Z";
  write_atomically(path("one/pass-1.calibration.json"), calibration.dump());
  const auto judged = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"accuracy", "--judge", "--format", "json", "--out", "one", "--out", "two"};
    words.insert(words.end(), more.begin(), more.end());
    const json document = json::parse(run(words).out);
    std::map<std::string, json> cases;
    for (const json& one : document["cases"]) cases[one["id"].get<std::string>()] = one;
    return cases;
  };
  std::map<std::string, json> cases = judged({});
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[gpipe]["passes"], 2);
  EXPECT_EQ(cases[sequential]["passes"], 1);
  EXPECT_TRUE(cases[gpipe]["held_out"].is_number());
  EXPECT_EQ(cases[gpipe]["stale"], nullptr) << "the older calibration is the other folder's";
  EXPECT_EQ(judged({gpipe}).size(), 1u) << "behind a folder stands a case";

  json other = read_json(path("two/pass-1.json"));
  other["calibration"]["machine_id"] = "another";
  write_atomically(path("two/pass-1.json"), other.dump());
  const Outcome machines = run({"accuracy", "--judge", "--out", "one", "--out", "two"});
  EXPECT_EQ(machines.code, 2);
  EXPECT_THAT(machines.err, HasSubstr("passes of one machine"));
}

TEST_F(AccuracyTest, SeveralFoldersAreForJudgingAloneAndEachOnce) {
  ASSERT_EQ(run({"accuracy", gpipe, "--passes", "1", "--out", "one", "--steps", "5"}).code, 0);
  const Outcome not_judged = run({"accuracy", gpipe, "--out", "one", "--out", "two"});
  EXPECT_EQ(not_judged.code, 2);
  EXPECT_THAT(not_judged.err, HasSubstr("try --judge"));
  const Outcome twice = run({"accuracy", "--judge", "--out", "one", "--out", "one/"});
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("each folder once"));
  const Outcome missing = run({"accuracy", "--judge", "--out", "one", "--out", "nowhere"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("got 'nowhere', expected a folder with pass-1.json"));
}

TEST_F(AccuracyTest, AGivenCalibrationServesAllPassesAndACopyStaysWithEach) {
  ASSERT_EQ(run({"accuracy", gpipe, "--passes", "2", "--out", "acc", "--steps", "5", "--calibration", "own.json"}).code,
            0);
  EXPECT_EQ(count_launches("calibrate"), 1);
  for (const char* copy : {"acc/pass-1.calibration.json", "acc/pass-2.calibration.json"})
    EXPECT_EQ(read_text(path(copy)), read_text(path("own.json"))) << copy;
}

TEST_F(AccuracyTest, EveryPassHasAnOrderOfItsOwnWhichAResumedOneKeeps) {
  const std::vector<std::string> cases = {sequential, gpipe, small + "1f1b/np:2/batch:8",
                                          small + "data-parallel/np:2/batch:8"};
  const auto words = [&](const std::string& out, const std::string& passes) {
    std::vector<std::string> all = {"accuracy", "--steps", "5", "--out", out, "--passes", passes};
    all.insert(all.end(), cases.begin(), cases.end());
    return all;
  };
  /// The last ids in the order in which they were measured, as many as there are cases.
  const auto last_measured = [&] {
    std::vector<std::string> ids;
    for (const std::string& line : launches()) {
      std::istringstream fields(line);
      std::string phase, id;
      fields >> phase >> id;
      if (phase == "measure") ids.push_back(id);
    }
    return std::vector<std::string>(ids.end() - std::ssize(cases), ids.end());
  };
  ASSERT_EQ(run(words("acc", "1")).code, 0);
  const std::vector<std::string> first = last_measured();
  ASSERT_EQ(run(words("acc", "2")).code, 0);
  const std::vector<std::string> second = last_measured();
  EXPECT_NE(first, second);
  EXPECT_THAT(second, testing::UnorderedElementsAreArray(first));

  ASSERT_EQ(run(words("stopped", "1")).code, 0);
  EXPECT_EQ(last_measured(), first) << "it depends on ids and pass alone";
  set("FAKE_RANK", second[1] + "|measure|slow|0");
  EXPECT_EQ(run_and_signal(words("stopped", "2"), "measure " + second[1], SIGINT).code, 130);
  EXPECT_EQ(run(words("stopped", "2")).code, 0);
  EXPECT_EQ(last_measured(), second);
}

TEST_F(AccuracyTest, AnInterruptedPassGoesOnByTheSameCommand) {
  set("FAKE_RANK", "sequential|measure|slow|0");
  const std::vector<std::string> words = {"accuracy", gpipe, sequential, "--passes", "1", "--out", "acc"};
  const Outcome outcome = run_and_signal(words, "measure " + sequential, SIGINT);
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, HasSubstr("1 of 2 cases did not run; the same command goes on"));
  EXPECT_THAT(run({"accuracy", "--out", "acc", "--judge"}).out, StartsWith("1 case in"));
  EXPECT_EQ(run(words).code, 0);
  EXPECT_EQ(count_launches("measure"), 2);
}

TEST_F(AccuracyTest, APassThatLacksChosenCasesIsToldAndNotRunAgain) {
  const auto accuracy = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "accuracy");
    words.insert(words.end(), {"--passes", "1", "--out", "acc", "--steps", "5"});
    return run(words);
  };
  ASSERT_EQ(accuracy({gpipe}).code, 0);
  const std::size_t before = launches().size();
  const Outcome more = accuracy({gpipe, sequential});
  EXPECT_EQ(more.code, 0);
  EXPECT_THAT(more.err, HasSubstr("pass 1 holds 1 of the 2 chosen cases; choose another folder with --out"));
  EXPECT_THAT(more.out, StartsWith("1 case in"));
  EXPECT_THAT(accuracy({gpipe}).err, testing::Not(HasSubstr("chosen cases")));
  EXPECT_EQ(launches().size(), before);
}

TEST_F(AccuracyTest, AFolderOfAnotherMachineIsRefusedBeforeAnythingRuns) {
  const auto accuracy = [&](const std::string& passes) {
    return run({"accuracy", gpipe, "--passes", passes, "--out", "acc", "--steps", "5"});
  };
  ASSERT_EQ(accuracy("1").code, 0);
  json theirs = read_json(path("acc/pass-1.json"));
  theirs["calibration"]["machine_id"] = "another";
  write_atomically(path("acc/pass-1.json"), theirs.dump());
  const std::size_t before = launches().size();
  const Outcome outcome = accuracy("2");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("expected passes of one machine, another"));
  EXPECT_EQ(launches().size(), before);
  EXPECT_EQ(accuracy("1").code, 0) << "nothing is to be run: it is judged";
}

TEST_F(AccuracyTest, APassThatHasNotEndedCannotBeJudgedYet) {
  std::filesystem::create_directories(path("acc/pass-1.json.journal"));
  const Outcome outcome = run({"accuracy", "--out", "acc", "--judge"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("pass 1 has not ended: the same command without --judge goes on with it"));
}

TEST_F(AccuracyTest, AFolderWithoutPassesCannotBeJudged) {
  const Outcome outcome = run({"accuracy", "--out", "nowhere", "--judge"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("a folder with pass-1.json"));
}

}  // namespace
}  // namespace parabench::suite
