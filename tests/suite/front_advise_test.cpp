// Which strategy is advised, and what of it is run.
#include <gmock/gmock.h>

#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class AdviseTest : public FrontTest {
 protected:
  Outcome ask(std::vector<std::string> more) {
    std::vector<std::string> words = {"advise", "--model", "mlp[layers=4]", "--dataset", "cifar10-synthetic",
                                      "--np",   "2",       "--batch",       "8"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
};

TEST_F(AdviseTest, TheFastestStandFirstWithTimeAndMemory) {
  const Outcome text = ask({});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.err, HasSubstr("the data sheet predicts: no calibration of this machine yet"));
  EXPECT_THAT(text.out, AllOf(StartsWith("mlp[layers=4] on cifar10-synthetic, batch 8, up to 2 ranks"),
                              HasSubstr("peak memory"), HasSubstr("train otherwise than sequential training")));
  const json advice = json::parse(ask({"--format", "json"}).out);
  double before = 0;
  for (const json& one : advice["candidates"]) {
    EXPECT_GE(one["step_time_s"], before);
    before = one["step_time_s"];
  }
  EXPECT_THAT(text.out, HasSubstr(advice["candidates"][0]["id"].get<std::string>()));
  EXPECT_EQ(advice["simulated"], advice["candidates"].size()) << "so few ranks are simulated all";
  EXPECT_THAT(
      ask({"--format", "csv"}).out,
      StartsWith("id,strategy,trains_as_sequential,has_executor,is_simulated,step_time_s,throughput_samples_per_s,"
                 "peak_memory_bytes,on_front,cost_source,closed_form_step_time_s,"
                 "closed_form_peak_memory_bytes\n" +
                 advice["candidates"][0]["id"].get<std::string>() + ','));
  const json& first = advice["candidates"][0];
  EXPECT_GT(first["closed_form"]["step_time_s"], 0);
  EXPECT_GT(first["closed_form"]["peak_memory_bytes"], 0);
  EXPECT_FALSE(first.contains("strategy")) << "it is among the parameters";
  EXPECT_EQ(first.size(), 11u);
}

TEST_F(AdviseTest, WhatDividesLayersIsMarkedAsNotRun) {
  const auto rows = [&](const char* count) {
    return run({"advise", "--model", "transformer[layers=8,hidden=1024,heads=16]", "--dataset", "tokens-synthetic",
                "--np", "4", "--batch", "16", "--keys", "device:cuda", "--hardware", "h100-sxm", "--rows", count});
  };
  const Outcome text = rows("400");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.err, Not(HasSubstr("no calibration"))) << "another machine's data sheet was asked for";
  EXPECT_THAT(rows("1").out, AllOf(HasSubstr("device used"), HasSubstr("\ntp: at best "), HasSubstr("/tp:2)\n")))
      << "no row of the table has it";
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("80.0 GiB a rank"), HasSubstr("/tp:2 "), HasSubstr("\ntp: what it would take")));
  EXPECT_THAT(ask({}).out, testing::Not(HasSubstr("tp:")));
  EXPECT_THAT(ask({"--keys", "tp:2"}).err, HasSubstr("keys that advise does not choose itself"));
}

TEST_F(AdviseTest, KeysHoldForAllCandidates) {
  const json advice = json::parse(ask({"--format", "json", "--keys", "threads:2/optimizer:adam"}).out);
  for (const json& one : advice["candidates"]) {
    EXPECT_EQ(one["parameters"]["threads"], 2) << one["id"];
    EXPECT_EQ(one["parameters"]["optimizer"]["name"], "adam") << one["id"];
  }
}

TEST_F(AdviseTest, TheBestAreRunAndComparedWithThePredictedBest) {
  const Outcome outcome = ask({"--run", "2", "--json", "best.json", "--steps", "3"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("measured best"));
  const json records = results("best.json")["records"];
  ASSERT_EQ(records.size(), 2u);
  const std::string first = records[0]["id"], second = records[1]["id"];
  std::vector<std::string> measured;
  for (const std::string& line : launches())
    if (line.starts_with("measure ")) measured.push_back(line.starts_with("measure " + first + " ") ? first : second);
  EXPECT_THAT(measured, testing::ElementsAre(first, second, first, second, first, second)) << "by turns";
}

TEST_F(AdviseTest, WhereNothingTrainsAsSequentialTrainingDoesAllAreShownAndNoneIsRun) {
  const Outcome shown = ask({"--keys", "compress:bf16"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("train otherwise than sequential training"), HasSubstr("compress:bf16")));
  const Outcome refused = ask({"--keys", "compress:bf16", "--run", "1"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--run: got '1', expected a candidate that can run and trains as sequential"));
}

TEST_F(AdviseTest, BadQuestionsAreRefusedWithWhatToTry) {
  EXPECT_THAT(ask({"--keys", "micro:4"}).err,
              HasSubstr("--keys: got 'micro:4', expected keys that advise does not choose itself"));
  EXPECT_THAT(ask({"--keys", "zero:0"}).err, HasSubstr("keys that advise does not choose itself"));
  EXPECT_THAT(ask({"--keys", "memory:1GB"}).err, HasSubstr("try --memory"));
  EXPECT_THAT(ask({"--keys", "thread:4"}).err, HasSubstr("threads"));
  EXPECT_THAT(ask({"--memory", "1kB"}).err, HasSubstr("is predicted to need"));
  EXPECT_THAT(ask({"--memory", "much"}).err, HasSubstr("--memory: got 'much'"));
  EXPECT_THAT(ask({"--steps", "3"}).err, HasSubstr("--run"));
  EXPECT_THAT(ask({"--run", "1", "--hardware", "h100-sxm"}).err, HasSubstr("cases run on this machine"));
  EXPECT_THAT(run({"advise", "--model", "resnet", "--dataset", "cifar10-synthetic", "--np", "2", "--batch", "8"}).err,
              HasSubstr("resnet18"));
  EXPECT_EQ(ask({"--np", "0"}).code, 2);
  EXPECT_THAT(run({"advise", "--np", "0"}).err,
              HasSubstr("--np: got '0', expected an integer from 1 to 2147483647; try --np 2"));
}

}  // namespace
}  // namespace parabench::suite
