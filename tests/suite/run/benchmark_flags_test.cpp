#include "suite/run/benchmark_flags.h"

#include <gmock/gmock.h>

#include <map>

#include "base/error.h"
#include "suite/run/benchmark_report.h"

namespace parabench::suite {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

BenchmarkFlags read(const Words& words, const Environment& environment = {}) {
  return read_benchmark_flags(words, [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const Words& words, const Environment& environment = {}) {
  try {
    read(words, environment);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST(BenchmarkFlags, PassOnInOrder) {
  const Words words = {"--benchmark_counters_tabular", "--benchmark_out=a.json", "--benchmark_out_format=json", "--v=1",
                       "--benchmark_context=a=b",      "--benchmark_format=csv"};
  const BenchmarkFlags flags = read(words);
  EXPECT_EQ(flags.passed, words);
  EXPECT_EQ(flags.out, "a.json");
  EXPECT_TRUE(flags.console);
  EXPECT_FALSE(flags.list_tests);
}

TEST(BenchmarkFlags, BeatTheirTwins) {
  const Environment environment = {
      {"BENCHMARK_REPETITIONS", "7"}, {"BENCHMARK_FILTER", "gpipe"}, {"BENCHMARK_OUT", "x"}};
  EXPECT_EQ(read({}, environment).repetitions, 7);
  EXPECT_EQ(read({}, environment).out, "x");
  EXPECT_EQ(read({"--benchmark_repetitions=2"}, environment).repetitions, 2);
  EXPECT_EQ(read({"--benchmark_filter=all"}, environment).filter, ".");
}

TEST(BenchmarkFlags, ThatLaunchAgainAreRefusedWithOurs) {
  EXPECT_THAT(refusal({"--benchmark_min_time=2"}), HasSubstr("--steps"));
  EXPECT_THAT(refusal({"--benchmark_min_warmup_time=1"}), HasSubstr("--warmup"));
}

TEST(BenchmarkFlags, RandomInterleavingIsTakenAsItIsSwitched) {
  EXPECT_FALSE(read({}).interleave);
  EXPECT_TRUE(read({"--benchmark_enable_random_interleaving"}).interleave);
  EXPECT_TRUE(read({}, {{"BENCHMARK_ENABLE_RANDOM_INTERLEAVING", "true"}}).interleave);
  EXPECT_FALSE(read({"--benchmark_enable_random_interleaving=false"}, {{"BENCHMARK_ENABLE_RANDOM_INTERLEAVING", "1"}})
                   .interleave);
}

TEST(BenchmarkFlags, MisspeltOrMalformedAreErrors) {
  EXPECT_THAT(refusal({"--benchmark_filtr=x"}), HasSubstr("did you mean '--benchmark_filter'?"));
  EXPECT_THAT(refusal({"--benchmark_repetitions=0"}), HasSubstr("'0'"));
  EXPECT_THAT(refusal({"--benchmark_repetitions"}), HasSubstr("=VALUE"));
  EXPECT_THAT(refusal({"--benchmark_format=yaml"}), HasSubstr("console, json, csv"));
  EXPECT_THAT(refusal({"--benchmark_filter=(("}), HasSubstr("regular expression"));
}

TEST(BenchmarkFlags, FilterSearchesNamesWithTheirSuffix) {
  const std::string name = benchmark_name("resnet18/cifar10-synthetic/gpipe/np:2/batch:64", 20);
  EXPECT_TRUE(read({"--benchmark_filter=gpipe/np:2"}).selects(name));
  EXPECT_TRUE(read({"--benchmark_filter=manual_time$"}).selects(name));
  EXPECT_FALSE(read({"--benchmark_filter=batch:64$"}).selects(name));
  EXPECT_FALSE(read({"--benchmark_filter=-gpipe"}).selects(name));
  EXPECT_TRUE(read({"--benchmark_filter=-pipedream"}).selects(name));
}

}  // namespace
}  // namespace parabench::suite
