// Predictions of machines that differ, that one does not have, and of many cases.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using PredictTest = FrontTest;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

const std::string on_gpus = "resnet50/imagenet-synthetic/data-parallel/np:16/batch:512/device:cuda";

TEST_F(PredictTest, WhatIfStandsBesideThePredictionWithItsRatio) {
  // Micro-batches so large that arithmetic bounds their passes, whatever this machine's memory is like.
  const std::string large = small + "gpipe/np:2/batch:512";
  const Outcome text = run({"predict", large, "--what-if", "flops=x2,bandwidth=x4"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("with bandwidth=x4,flops=x2, x 0."), HasSubstr("base"), HasSubstr("what-if"),
                              HasSubstr("flops_per_step"), HasSubstr("x 1.000"), HasSubstr("\n  operations  compute "),
                              HasSubstr("\n  operations  what-if compute ")));
  const json one = json::parse(run({"predict", large, "--what-if", "flops=x2,bandwidth=x4", "--json"}).out)[0];
  const double base = one["predicted"]["step_time_s"], now = one["what_if"]["predicted"]["step_time_s"];
  EXPECT_LT(now, base);
  EXPECT_DOUBLE_EQ(one["what_if"]["step_time_ratio"], now / base);
  EXPECT_EQ(one["what_if"]["changes"], (json{{"bandwidth", "x4"}, {"flops", "x2"}}));
  EXPECT_EQ(one["predicted"], json::parse(run({"predict", large, "--json"}).out)[0]["predicted"]) << "the base stays";
  const auto value = [](const json& predicted, const std::string& name) {
    for (const json& term : predicted["terms"])
      if (term["name"] == name) return term["value"].get<double>();
    return -1.0;
  };
  EXPECT_LT(value(one["what_if"]["predicted"], "message[stage 0 to 1]"),
            value(one["predicted"], "message[stage 0 to 1]"));
  EXPECT_EQ(value(one["what_if"]["predicted"], "update[stage 0]"), value(one["predicted"], "update[stage 0]"));
}

TEST_F(PredictTest, DdlbenchsEquationStandsBesideItsOwnCasesAndSaysWhatItLeavesOut) {
  const std::string of_the_set = "resnet18/cifar10-synthetic/gpipe/np:4/batch:2048/micro:32/recompute:except-last";
  const std::string left_out = "the forwards that run again are not counted", equation = "ddlbench_eq_6_1_6_2";
  const Outcome text = run({"predict", of_the_set, "--what-if", "flops=x2"});
  EXPECT_EQ(text.code, 0) << text.err;
  // Whether ranks share cores is this machine's.
  EXPECT_THAT(text.out, AllOf(HasSubstr(equation + " (" + left_out), HasSubstr("); what-if ")));
  EXPECT_THAT(text.out, testing::ContainsRegex("rank +forward +backward +recompute +update"));
  const json predicted = json::parse(run({"predict", of_the_set, "--json"}).out)[0]["predicted"];
  EXPECT_GT(predicted.at("second_opinion_step_time_s").at(equation), 0);
  EXPECT_THAT(predicted.at("broken_assumptions").at(equation), testing::Contains(left_out));
}

TEST_F(PredictTest, MoreCoresHelpRanksThatTakeTurns) {
  const std::string wide = small + "data-parallel/np:4/batch:8/threads:64";
  const json one = json::parse(run({"predict", wide, "--what-if", "cores=256", "--json"}).out)[0];
  EXPECT_LT(one["what_if"]["step_time_ratio"], .9);
  EXPECT_EQ(run({"predict", on_gpus, "--what-if", "cores=256"}).code, 2);
}

TEST_F(PredictTest, AShippedSheetPredictsForAMachineThatIsNotHere) {
  const Outcome text = run({"predict", on_gpus, "--hardware", "h100-sxm"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("data-sheet of h100-sxm"), HasSubstr("data sheet of h100-sxm")));
  EXPECT_THAT(text.err, Not(HasSubstr("calibrate"))) << "it would measure another machine";
  const auto step = [&](const std::string& hardware, const std::string& id) {
    const json one = json::parse(run({"predict", id, "--hardware", hardware, "--json"}).out)[0];
    EXPECT_EQ(one["hardware"], hardware);
    EXPECT_EQ(one["cost_source"], "data-sheet");
    return one["predicted"]["step_time_s"].get<double>();
  };
  EXPECT_LT(step("h100-sxm", on_gpus), step("a100-sxm-80gb", on_gpus));
  EXPECT_LT(step("a100-sxm-80gb", on_gpus), step("v100-sxm-32gb", on_gpus));
  const std::string on_host = "resnet18/cifar10-synthetic/sequential/np:1/batch:32/threads:16";
  EXPECT_LT(step("h100-sxm", on_host), step("v100-sxm-32gb", on_host));
}

TEST_F(PredictTest, TermsOfStagesThatAreAlikeStandOnce) {
  const std::string text =
      run({"predict", "mlp[layers=16]/cifar10-synthetic/1f1b/np:16/batch:64/device:cuda", "--hardware", "h100-sxm"})
          .out;
  EXPECT_THAT(text,
              AllOf(HasSubstr("  forward[stage 0] "), HasSubstr("  forward[stage 1] "),
                    HasSubstr("  message[stage 1 to 2] "), HasSubstr("  stages 2 to 6 "), HasSubstr(" as stage 1\n"),
                    HasSubstr("  forward[stage 7] "), HasSubstr("  forward[stage 15] ")))
      << "stages 7 and 8 send to another host, and the last one nowhere";
  EXPECT_THAT(text, Not(HasSubstr("[stage 3")));
}

TEST_F(PredictTest, ARankThatNoGpuHoldsIsNoted) {
  const auto noted = [&](const std::string& hidden) {
    return run({"predict", "mlp[layers=8,hidden=" + hidden + "]/cifar10-synthetic/sequential/np:1/batch:32/device:cuda",
                "--hardware", "h100-sxm"})
        .err;
  };
  EXPECT_THAT(noted("65536"), HasSubstr("a rank is predicted to need "));
  EXPECT_THAT(noted("65536"), HasSubstr(" of GPU memory, "));
  EXPECT_THAT(noted("1024"), Not(HasSubstr("GPU memory")));
}

TEST_F(PredictTest, DevicesThatNobodyMayHaveMeantAreNoted) {
  const std::string on_processors = small + "gpipe/np:2/batch:8", on_a_gpu = on_processors + "/device:cuda";
  EXPECT_THAT(run({"predict", on_a_gpu}).err,
              HasSubstr("no GPU known: data sheet of A10; --hardware names another one"));
  EXPECT_THAT(run({"predict", on_processors, "--hardware", "h100-sxm"}).err,
              HasSubstr("on the processors of hardware h100-sxm; the key device:cuda takes its GPUs"));
  EXPECT_THAT(run({"predict", on_a_gpu, "--hardware", "h100-sxm"}).err, Not(HasSubstr("device")));
  EXPECT_THAT(run({"predict", on_processors}).err, Not(HasSubstr("hardware")));
  for (const std::string option : {"--hardware", "--calibration"}) {
    const Outcome outcome = run({"predict", on_processors, option, ""});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(option + ": got ''"));
  }
}

TEST_F(PredictTest, OfASweepTheFirstCaseOnOtherHostsIsNoted) {
  const std::string err =
      run({"predict", "mlp[layers=4]/cifar10-synthetic/data-parallel/np:2/batch:4096", "--sweep", "np=2,2048,4096"})
          .err;
  EXPECT_THAT(err, AllOf(HasSubstr("np:2048/batch:4096: more ranks than 8 for each core are taken to be on "),
                         HasSubstr("no network is known"), HasSubstr(" (the first of 2 such cases)")));
}

TEST_F(PredictTest, TheMostRanksThatArePredictedAreTold) {
  const Outcome outcome = run({"predict", "mlp[layers=4]/cifar10-synthetic/data-parallel/np:2000000/batch:4000000"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("np: got '2000000', expected at most 1000000; try np:1000000"));
}

TEST_F(PredictTest, OfASweepTheFirstCaseThatNoGpuHoldsIsNotedWithTheirNumber) {
  const auto swept = [&](const std::string& values) {
    return run({"predict", "mlp[layers=8,hidden=1024]/cifar10-synthetic/sequential/np:1/batch:32/device:cuda",
                "--hardware", "h100-sxm", "--sweep", "model=" + values})
        .err;
  };
  const std::string fits = "mlp[layers=8]", large = "mlp[layers=8,hidden=65536]", larger = "mlp[layers=9,hidden=65536]";
  EXPECT_THAT(swept(fits), Not(HasSubstr("GPU memory")));
  EXPECT_THAT(swept(fits + "," + large),
              AllOf(HasSubstr(large), HasSubstr(" of GPU memory, "), Not(HasSubstr("first of"))));
  const std::string both = swept(large + "," + larger);
  EXPECT_THAT(both, AllOf(HasSubstr(large), HasSubstr(" (the first of 2 such cases)"), Not(HasSubstr(larger))));
}

TEST_F(PredictTest, ASheetOfOnesOwnIsAFile) {
  json sheet = json::parse(run({"list", "--hardware", "--json"}).out)[0];
  sheet["name"] = "mine";
  sheet["gpus"]["bf16_flops_per_s"] = 1e12;
  sheet.erase("network");
  std::ofstream(path("mine.json")) << sheet;
  const std::string bf16 = "resnet50/imagenet-synthetic/data-parallel/np:8/batch:512/device:cuda/precision:bf16";
  const json mine = json::parse(run({"predict", bf16, "--hardware", "mine.json", "--json"}).out)[0];
  EXPECT_EQ(mine["hardware"], "mine");
  // 512 samples of 24.5 GFLOP on 8 GPUs at 0.75 TFLOP/s.
  EXPECT_GT(mine["predicted"]["step_time_s"], 512 * 24e9 / 8 / .75e12);
  const Outcome two_hosts = run({"predict", on_gpus, "--hardware", "mine.json"});
  EXPECT_EQ(two_hosts.code, 2);
  EXPECT_THAT(two_hosts.err, AllOf(HasSubstr("np: got '16'"), HasSubstr("at most 8")));
}

TEST_F(PredictTest, ASheetThatIsNoneIsRefused) {
  const auto refused = [&](const std::string& hardware) {
    const Outcome outcome = run({"predict", on_gpus, "--hardware", hardware});
    EXPECT_EQ(outcome.code, 2) << hardware;
    return outcome.err;
  };
  EXPECT_THAT(refused("h100"), HasSubstr("h100-sxm"));
  std::ofstream(path("cut.json")) << R"({"format": "parabench hardware", )";
  EXPECT_THAT(refused("cut.json"), HasSubstr("cut.json"));
  std::ofstream(path("foreign.json")) << R"({"schema_version": "1.12", "records": []})";
  EXPECT_THAT(refused("foreign.json"), HasSubstr("another kind"));
  std::ofstream(path("huge.json")) << R"({"format": "parabench hardware", "schema_version": 1e999})";
  EXPECT_NE(refused("huge.json"), "");
  EXPECT_NE(refused("."), "") << "a folder";
  EXPECT_EQ(run({"predict", on_gpus, "--hardware", "h100-sxm", "--calibration", "c.json"}).code, 2);
}

TEST_F(PredictTest, ListShowsTheSheetsWithTheirSources) {
  EXPECT_THAT(run({"list", "--hardware"}).out,
              AllOf(HasSubstr("h100-sxm"), HasSubstr("a100-sxm-80gb"), HasSubstr("v100-sxm-32gb")));
  for (const json& sheet : json::parse(run({"list", "--hardware", "--json"}).out))
    EXPECT_FALSE(sheet["sources"].empty());
}

TEST_F(PredictTest, ASweepIsATableWhoseImpossibleRowsSayWhy) {
  const Outcome outcome = run({"predict", gpipe, "--sweep", "np=1..4,micro=4,16", "--what-if", "flops=x2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 1 + 3 * 2u);
  EXPECT_EQ(lines[0],
            "id,np,micro,status,reason,step_time_s,what_if_step_time_s,what_if_ratio,throughput_samples_per_s,bubble_s,"
            "communication_exposed_s,peak_memory_bytes,device_used_bytes,cost_source");
  // 8 samples make no 16 micro-batches.
  EXPECT_THAT(lines[2], AllOf(HasSubstr(",1,16,impossible,"), HasSubstr("at least 16 samples")));
  EXPECT_THAT(lines[6], AllOf(HasSubstr("np:4/batch:8/micro:16"), HasSubstr("impossible")));
  for (const int i : {3, 5}) EXPECT_THAT(lines[i], AllOf(HasSubstr(",4,ok,,0."), HasSubstr("data-sheet")));
}

TEST_F(PredictTest, ATableNamesTheMachineThatItWasAskedFor) {
  const auto lines =
      lines_of(run({"predict", gpipe, "--sweep", "micro=4,16", "--hardware", "v100-sxm-32gb", "--hosts", "2"}).out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], testing::EndsWith(",cost_source,hardware,hosts"));
  EXPECT_THAT(lines[1], testing::EndsWith(",data-sheet,v100-sxm-32gb,2"));
  EXPECT_THAT(lines[2], AllOf(HasSubstr(",impossible,"), testing::EndsWith(",,v100-sxm-32gb,2")));
}

TEST_F(PredictTest, ASweepAsJsonHasTheWholePredictions) {
  const Outcome outcome = run({"predict", gpipe, "--sweep", "micro=4,16,strategy=gpipe,1f1b", "--format", "json"});
  const json all = json::parse(outcome.out);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0]["parameters"]["micro"], 4);
  EXPECT_GT(all[0]["predicted"]["terms"].size(), 3u);
  EXPECT_TRUE(all[1]["predicted"].is_null());
  EXPECT_THAT(all[1]["reason"].get<std::string>(), HasSubstr("at least 16 samples"));
  EXPECT_TRUE(all[0]["reason"].is_null());
}

TEST_F(PredictTest, OptionsThatJoinByCommasMayBeRepeatedAndAreNotEmpty) {
  const std::vector<std::string> once = {"predict",           gpipe, "--what-if", "bandwidth=x2,latency=x2", "--sweep",
                                         "np=2..4,batch=8,16"};
  const std::vector<std::string> twice = {"predict",    gpipe,     "--what-if", "bandwidth=x2", "--what-if",
                                          "latency=x2", "--sweep", "np=2..4",   "--sweep",      "batch=8,16"};
  EXPECT_EQ(run(twice).out, run(once).out);
  for (const std::string option : {"--what-if", "--sweep"}) {
    for (const std::string text : {"", ",", "micro=4,,8", "micro=4,"}) {
      const Outcome refused = run({"predict", gpipe, option, text, "--json"});
      EXPECT_EQ(refused.code, 2) << text;
      EXPECT_THAT(refused.err, HasSubstr(option + ": got '")) << text;
    }
  }
}

TEST_F(PredictTest, ASweepThatExplodesIsRefused) {
  const Outcome outcome = run({"predict", gpipe, "--sweep", "np=1..1000+1,micro=1..1000+1"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("1000000 combinations"), HasSubstr("at most 10000")));
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(run({"predict", gpipe, sequential, "--sweep", "seed=1..6000+1"}).code, 2);
}

TEST_F(PredictTest, NamedCasesAreATableTooAndImpossibleOnesAnError) {
  const auto lines = lines_of(run({"predict", gpipe, sequential, "--format", "csv"}).out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], StartsWith("id,status,reason,step_time_s,throughput"));
  for (const char* format : {"text", "csv", "json"}) {
    const Outcome impossible = run({"predict", small + "gpipe/np:2/batch:3", "--format", format});
    EXPECT_EQ(impossible.code, 2);
    EXPECT_EQ(impossible.out, "") << format;
  }
  EXPECT_EQ(run({"predict", gpipe, "--format", "xml"}).code, 2);
  EXPECT_EQ(run({"predict", gpipe, "--format", "csv", "--json"}).code, 2);
}

TEST_F(PredictTest, CalibratedTermsHaveTheDateOfTheirCalibration) {
  ASSERT_EQ(run({"calibrate", gpipe, "--out", "here.json"}).code, 0);
  std::ifstream file(path("here.json"));
  const std::string date = json::parse(file)["launches"][0]["date"];
  const json one = json::parse(run({"predict", gpipe, "--calibration", "here.json", "--json"}).out)[0];
  int dated = 0;
  for (const json& term : one["predicted"]["terms"]) {
    EXPECT_EQ(term["date"].is_null(), term["cost_source"] != "calibrated") << term;
    if (term["date"].is_null()) continue;
    ++dated;
    EXPECT_EQ(term["date"], date);
  }
  EXPECT_GT(dated, 0);
  EXPECT_THAT(run({"predict", gpipe, "--calibration", "here.json"}).out, HasSubstr("calibrated " + date + "]"));
  const json guessed = json::parse(run({"predict", gpipe, "--json", "--hardware", "h100-sxm"}).out)[0];
  for (const json& term : guessed["predicted"]["terms"]) EXPECT_TRUE(term["date"].is_null());
}

}  // namespace
}  // namespace parabench::suite
