// device:emulated before anything is started.
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::HasSubstr;

const std::string emulated = gpipe + "/device:emulated";

using EmulatedTest = FrontTest;

TEST_F(EmulatedTest, WhatItCannotDoIsRefused) {
  const auto expect_refused = [&](std::vector<std::string> words, const std::string& part) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << part;
    EXPECT_THAT(outcome.err, HasSubstr(part));
  };
  expect_refused({"run", emulated, "--emulate", "2ms"}, "try --emulate unit:2ms");
  expect_refused({"run", emulated, "--emulate", "unit:0s"}, "'unit:0s'");
  expect_refused({"run", emulated, "--emulate", "unit:2"}, "try 2us, 2ms or 2s");
  expect_refused({"run", emulated, "--emulate", "rate:1Gbit,latency:50"}, "a time with its unit");
  expect_refused({"run", emulated, gpipe, "--emulate", "unit:2ms"},
                 "--emulate: got 'unit:0.002s', expected cases of device:emulated alone, not " + gpipe +
                     "; add device:emulated to its keys; --where device=emulated leaves out cases of other devices");
  expect_refused({"run", small + "data-parallel/np:2/batch:8/reduce:window", "--emulate", "rate:1Gbit"},
                 "cases of device:emulated alone");
  expect_refused({"plan", gpipe, "--emulate", "unit:2ms"}, gpipe);
  expect_refused({"predict", gpipe, "--emulate", "rate:1Gbit"}, gpipe);
  expect_refused({"run", emulated, "--emulate", "latency:1us"}, "try --emulate unit:2ms or --emulate rate:1Gbit");
  expect_refused({"run", emulated, "--emulate", "rate:0bit"}, "'rate:0bit'");
  expect_refused({"run", emulated, "--emulate", "rate:1Gbit,rate:2Gbit"}, "each at most once");
  expect_refused({"run", emulated, "--emulate", "rate:1GB"}, "bits per second");
  expect_refused({"run", emulated, "--emulate", "unit:2ms,"}, "'unit:2ms,'");
  expect_refused({"run", emulated, "--verify", "only"}, "nothing to verify");
  expect_refused({"calibrate", emulated}, "device:cpu");
  expect_refused({"predict", emulated + "/comm:mpi"}, "threads with device:emulated");
  EXPECT_EQ(count_launches("measure"), 0);
}

TEST_F(EmulatedTest, CasesOfOtherDevicesAreLeftOutAsTheRefusalSays) {
  const Outcome outcome =
      run({"run", emulated, gpipe, "--where", "device=emulated", "--emulate", "unit:2ms", "--dry-run"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("# " + emulated + "\n"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("# " + gpipe + "\n")));
}

TEST_F(EmulatedTest, ThePlanFileTellsHowLongEachOperationTakes) {
  const auto seconds = [](const Outcome& outcome) {
    std::map<std::string, double> longest;
    const auto document = nlohmann::json::parse(outcome.out);
    for (const auto& rank : document["ranks"]) {
      for (const auto& lane : rank["lanes"]) {
        for (const auto& op : lane) {
          double& most = longest[op["op"]];
          most = std::max(most, op.at("seconds").get<double>());
        }
      }
    }
    return longest;
  };
  const auto units = seconds(run({"plan", emulated, "--format", "json", "--emulate", "unit:2ms"}));
  EXPECT_EQ(units.at("F"), 2e-3);
  EXPECT_EQ(units.at("B"), 4e-3);
  EXPECT_EQ(units.at("SEND"), 0);
  const auto sheet = seconds(run({"plan", emulated, "--format", "json"}));
  EXPECT_GT(sheet.at("F"), 0);
  EXPECT_GT(sheet.at("SEND"), 0);
  EXPECT_THAT(run({"plan", gpipe, "--format", "json"}).out, testing::Not(HasSubstr("\"seconds\"")));
  const auto linked =
      seconds(run({"plan", emulated, "--format", "json", "--emulate", "latency:1s,rate:1Gbit,unit:2ms"}));
  EXPECT_EQ(linked.at("F"), 2e-3);
  EXPECT_GT(linked.at("SEND"), 1);
  const auto slow = seconds(run({"plan", emulated, "--format", "json", "--emulate", "rate:1Mbit"}));
  EXPECT_EQ(slow.at("F"), sheet.at("F"));
  EXPECT_NEAR(slow.at("SEND"), 1000 * (linked.at("SEND") - 1), 1e-6);
}

TEST_F(EmulatedTest, ARunSaysWhatWasGivenInTheCommandThatRepeatsIt) {
  EXPECT_THAT(run({"run", emulated, "--dry-run", "--emulate", "latency:50us,rate:1000Mbit/s,unit:2ms"}).out,
              HasSubstr("--emulate unit:0.002s,rate:1Gbit,latency:5e-05s"));
}

}  // namespace
}  // namespace parabench::suite
