#include "suite/run/front.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace parabench::suite {
namespace {

class SilentReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

void run_case(benchmark::State& state, const DrivenCase& one) {
  const Repetition repetition = one.repeat();
  if (repetition.step_times_s.size() != static_cast<std::size_t>(state.max_iterations)) {
    state.SkipWithError(repetition.failure.c_str());
    return;
  }
  auto time = repetition.step_times_s.begin();
  for ([[maybe_unused]] auto _ : state) state.SetIterationTime(*time++);
  state.SetItemsProcessed(state.iterations() * one.batch);
  for (const auto& [name, value] : repetition.counters) state.counters[name] = value;
}

}  // namespace

std::string benchmark_name(const std::string& id, int steps) {
  return fmt::format("{}/iterations:{}/manual_time", id, steps);
}

void drive(const BenchmarkFlags& flags, int repetitions, const std::vector<DrivenCase>& cases) {
  std::vector<std::string> words = {"parabench"};
  words.insert(words.end(), flags.passed.begin(), flags.passed.end());
  // The cases are already filtered; these also silence environment twins.
  words.insert(words.end(), {"--benchmark_filter=all", fmt::format("--benchmark_repetitions={}", repetitions)});
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  benchmark::SetDefaultTimeUnit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv.data());
  for (const DrivenCase& one : cases) {
    benchmark::RegisterBenchmark(one.id.c_str(), [&one](benchmark::State& state) { run_case(state, one); })
        ->Iterations(one.steps)
        ->UseManualTime();
  }
  SilentReporter silent;
  benchmark::RunSpecifiedBenchmarks(flags.console ? nullptr : &silent);
  benchmark::Shutdown();
}

}  // namespace parabench::suite
