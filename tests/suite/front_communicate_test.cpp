// parabench communicate with a stand-in for ranks.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using CommunicateTest = FrontTest;

const std::vector<std::string> small_sizes = {"communicate", "--sizes", "1KiB:16KiB:4", "--iterations", "6"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(CommunicateTest, LaunchesEveryAlgorithmAsOftenAsAskedAndKeepsAllInOneFile) {
  const Outcome outcome = run(with(small_sizes, {"--reduce", "auto,ring", "--collective", "all-reduce,ping-pong",
                                                 "--repetitions", "3", "--json", "results.json"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(count_launches("communicate reduce:auto"), 3);
  EXPECT_EQ(count_launches("communicate reduce:ring"), 3);
  EXPECT_EQ(count_launches("calibrate"), 0);
  // By turns.
  EXPECT_THAT(launches()[1], HasSubstr("reduce:auto"));
  EXPECT_THAT(launches()[2], HasSubstr("reduce:ring"));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("all-reduce among 2 ranks, fp32"), HasSubstr("auto: window"),
                                 HasSubstr("ping-pong among 2 ranks"), HasSubstr("never calibrated")));
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);

  const auto document = results();
  EXPECT_EQ(document["context"]["argv"][1], "communicate");
  EXPECT_TRUE(document["records"].empty());
  ASSERT_EQ(document["exchanges"].size(), 9u);
  const auto& ring = document["exchanges"][1];
  EXPECT_EQ(ring["id"], "communicate/all-reduce/ring/np:2/bytes:1024");
  EXPECT_EQ(ring["status"], "ok");
  EXPECT_EQ(ring["mpi_settings"], "OMPI_MCA_btl_tcp_flags=1");
  EXPECT_EQ(ring["canary"].size(), 3u) << "one of each launch";
  EXPECT_GT(ring["canary"][0]["matrix_product_s"], 0);
  EXPECT_EQ(ring["time_s"]["samples"].size(), 3u);
  EXPECT_EQ(ring["time_s"]["samples"][0].size(), 6u);
  const double median = ring["time_s"]["median"];
  EXPECT_DOUBLE_EQ(median, 1e-6 + 1024e-9);
  EXPECT_DOUBLE_EQ(ring["algorithm_bandwidth_bytes_per_s"], 1024 / median);
  EXPECT_DOUBLE_EQ(ring["bus_bandwidth_bytes_per_s"], 1024 / median);
  EXPECT_TRUE(ring["predicted_time_s"].is_null());
}

TEST_F(CommunicateTest, PutsThePredictionOfACalibratedMachineBesideTheTime) {
  ASSERT_EQ(run({"calibrate", gpipe}).code, 0);
  const Outcome outcome =
      run(with(small_sizes, {"--json", "results.json", "--collective", "all-reduce,reduce-scatter"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto all = results();
  const auto& rows = all["exchanges"];
  EXPECT_FALSE(all["calibration"].is_null());
  // The stand-in's curve: 1e-5 s of 1000 bytes, 0.1 s of 100 MB.
  EXPECT_NEAR(rows[0]["predicted_time_s"].get<double>(), 1e-5 + 24 * (0.1 - 1e-5) / (1e8 - 1e3), 1e-12);
  EXPECT_DOUBLE_EQ(rows[3]["predicted_time_s"].get<double>(), rows[0]["predicted_time_s"].get<double>() / 2);
  EXPECT_NEAR(rows[0]["time_error_relative"].get<double>(),
              rows[0]["predicted_time_s"].get<double>() / rows[0]["time_s"]["median"].get<double>() - 1, 1e-9);
  EXPECT_THAT(outcome.out,
              HasSubstr("predicted: from all-reduces of comm:mpi reduce:auto among 2 ranks, calibrated up to 100MB"));
}

TEST_F(CommunicateTest, AWrongValueFailsItsRowAlone) {
  set("FAKE_RANK", "reduce:auto|communicate|wrong|-1");
  const Outcome outcome = run(with(small_sizes, {"--json", "results.json", "--repetitions", "2"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("failed: a wrong value: iteration 0, rank 1: element 3 is 2, expected 5"));
  const auto document = results();
  EXPECT_EQ(document["exchanges"][0]["status"], "ok");
  EXPECT_EQ(document["exchanges"][0]["time_s"]["samples"].size(), 2u);
  EXPECT_EQ(document["exchanges"][2]["status"], "failed");
  EXPECT_TRUE(document["exchanges"][2]["time_s"].is_null());
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);
}

TEST_F(CommunicateTest, ALaunchThatFailsLeavesTheOtherAlgorithms) {
  set("FAKE_RANK", "reduce:ring|communicate|exit|0");
  const Outcome outcome =
      run(with(small_sizes, {"--reduce", "ring,library", "--repetitions", "2", "--json", "r.json"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(count_launches("communicate reduce:ring"), 1);
  EXPECT_EQ(count_launches("communicate reduce:library"), 2);
  const auto rows = results("r.json")["exchanges"];
  EXPECT_EQ(rows[0]["status"], "failed");
  EXPECT_THAT(rows[0]["reason"].get<std::string>(), HasSubstr("exited with code 7"));
  EXPECT_EQ(rows[1]["status"], "ok");
}

TEST_F(CommunicateTest, AReplyAboutOtherExchangesFails) {
  set("FAKE_RANK", "reduce:auto|communicate|short|0");
  EXPECT_EQ(run(small_sizes).code, 1);
  set("FAKE_RANK", "reduce:auto|communicate|foreign|0");
  EXPECT_EQ(run(small_sizes).code, 1);
}

TEST_F(CommunicateTest, WhatThisMachineCannotHaveIsSkippedWithTheReason) {
  set("FAKE_RANK", "reduce:window|communicate|environment|0");
  const Outcome outcome = run(with(small_sizes, {"--reduce", "auto,window", "--json", "results.json"}));
  EXPECT_EQ(outcome.code, 4);
  EXPECT_EQ(results()["exchanges"][1]["status"], "skipped");
  EXPECT_EQ(results()["exchanges"][0]["status"], "ok");
  EXPECT_THAT(outcome.out, HasSubstr("skipped: rank 0: told to fail with environment"));

  const Outcome threads = run({"communicate", "--comm", "threads", "--reduce", "ring,auto", "--sizes", "4KiB"});
  EXPECT_EQ(threads.code, 4);
  EXPECT_THAT(threads.out, HasSubstr("skipped: reduce: got 'ring', expected auto, window or hierarchical"));
}

TEST_F(CommunicateTest, BadInputIsRefusedBeforeAnyLaunch) {
  const auto expect_refused = [&](const std::vector<std::string>& words, const std::string& part) {
    const Outcome outcome = run(with({"communicate"}, words));
    EXPECT_EQ(outcome.code, 2) << part;
    EXPECT_THAT(outcome.err, HasSubstr(part));
  };
  expect_refused({"--collective", "all-to-all"}, "--collective: got 'all-to-all'");
  expect_refused({"--reduce", "tree"}, "--reduce: got 'tree'");
  expect_refused({"--sizes", "6"}, "--sizes: got '6'");
  expect_refused({"--sizes", "1EB"}, "--sizes: got '1EB'");
  expect_refused({"--sizes", "800000TB"}, "at most");
  expect_refused({"--np", "1"}, "--np: got '1', expected an integer from 2 to 2147483647; try --np 2\n");
  expect_refused({"--np", "4", "--groups", "3"}, "--groups: got '3'");
  expect_refused({"--precision", "bf16"}, "summed as fp32");
  expect_refused({"--iterations", "0"},
                 "--iterations: got '0', expected an integer from 1 to 2147483647; try --iterations 20");
  expect_refused({"--json", "-", "--benchmark_format=json"}, "one owner of stdout");
  expect_refused({"--json", "no/such/folder.json"}, "make its folder first");
  expect_refused({"--steps", "3"}, "an option of parabench communicate");
  expect_refused({"--calibration", "nothing.json"}, "calibrate CASE --out nothing.json makes one");
  EXPECT_EQ(count_launches("communicate"), 0);
}

TEST_F(CommunicateTest, GoogleBenchmarkChoosesAndReportsThem) {
  const auto names = run(with(small_sizes, {"--benchmark_list_tests"}));
  EXPECT_THAT(names.out, HasSubstr("communicate/all-reduce/auto/np:2/bytes:4096/iterations:6/manual_time"));
  const Outcome outcome = run(with(small_sizes, {"--benchmark_filter=bytes:4096", "--benchmark_repetitions=2",
                                                 "--benchmark_out=out.json", "--benchmark_format=json"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto document = read_json(path("out.json"));
  const auto& first = document["benchmarks"].at(0);
  EXPECT_EQ(first["run_name"], "communicate/all-reduce/auto/np:2/bytes:4096/iterations:6/manual_time");
  EXPECT_EQ(first["repetitions"], 2);
  EXPECT_GT(first["bytes_per_second"], 0);
  EXPECT_GT(first["busbw_bytes_per_s"], 0);
  EXPECT_EQ(run(with(small_sizes, {"--benchmark_filter=bytes:5"})).code, 3);
}

TEST_F(CommunicateTest, DryRunPrintsAScriptThatLaunchesTheSame) {
  const Outcome script =
      run(with(small_sizes, {"--reduce", "auto,ring", "--repetitions", "2", "--dry-run", "--json", "results.json"}));
  EXPECT_EQ(script.code, 0) << script.err;
  EXPECT_TRUE(launches().empty());
  EXPECT_FALSE(std::filesystem::exists(path("results.json")));
  std::ofstream(path("script.sh")) << "cd '" << path("").string() << "'\n" << script.out;
  ASSERT_EQ(std::system(("sh -e '" + path("script.sh").string() + "'").c_str()), 0);
  EXPECT_EQ(count_launches("communicate reduce:auto"), 2);
  EXPECT_EQ(count_launches("communicate reduce:ring"), 2);
}

TEST_F(CommunicateTest, JsonOnStdoutIsAllOfIt) {
  const Outcome outcome = run(with(small_sizes, {"--json", "-"}));
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["exchanges"].size(), 3u);
}

TEST_F(CommunicateTest, AnInterruptionKeepsWhatWasMeasured) {
  set("FAKE_RANK", "reduce:ring|communicate|hang|-1");
  const Outcome outcome = run_and_signal(with(small_sizes, {"--reduce", "auto,ring", "--json", "results.json"}),
                                         "communicate reduce:ring", SIGINT);
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(results()["exchanges"].size(), 3u);
  EXPECT_THAT(outcome.err, HasSubstr("3 of 6 exchanges did not run"));
  EXPECT_EQ(left_running(), 0);
}

}  // namespace
}  // namespace parabench::suite
