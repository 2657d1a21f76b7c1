#include "suite/run/benchmark_report.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <utility>

#include "base/case_id.h"
#include "results/summary.h"

namespace parabench::suite {
namespace {

class SilentReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

/// Numbers beside Google Benchmark's own; all finite.
std::vector<std::pair<std::string, double>> counters(const results::Record& record) {
  std::vector<std::pair<std::string, double>> all = {
      {"flops_per_s", record.measured->achieved_flops_per_s},
      {"peak_bytes", static_cast<double>(results::peak_bytes(*record.measured))}};
  if (record.predicted) all.emplace_back("pred_step_s", record.predicted->step_time_s);
  if (record.error) all.emplace_back("pred_rel_error", record.error->step_time_relative);
  std::erase_if(all, [](const auto& counter) { return !std::isfinite(counter.second); });
  return all;
}

/// The next launch of a record, each time it is called.
class Replay {
 public:
  explicit Replay(const results::Record& record) : record_(record) {}

  void operator()(benchmark::State& state) {
    if (record_.status == results::Status::failed) {
      state.SkipWithError(record_.reason.c_str());
      return;
    }
    const std::vector<double>& seconds = record_.measured->step_time_s.samples.at(launch_++);
    auto time = seconds.begin();
    for ([[maybe_unused]] auto _ : state) state.SetIterationTime(*time++);
    state.SetItemsProcessed(state.iterations() * record_.parameters.batch);
    for (const auto& [name, value] : counters(record_)) state.counters[name] = value;
  }

 private:
  const results::Record& record_;
  std::size_t launch_ = 0;
};

void initialize(const BenchmarkFlags& flags, int repetitions) {
  static char program[] = "parabench";  // read again when the results are written
  std::vector<std::string> words = flags.passed;
  // The cases are already filtered; these also silence environment twins.
  words.insert(words.end(), {"--benchmark_filter=all", fmt::format("--benchmark_repetitions={}", repetitions)});
  std::vector<char*> argv = {program};
  for (auto& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  benchmark::SetDefaultTimeUnit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv.data());
}

}  // namespace

std::string benchmark_name(const std::string& id, int steps) {
  return fmt::format("{}/iterations:{}/manual_time", id, steps);
}

bool selects(const BenchmarkFlags& flags, const std::string& id, int steps) {
  std::string_view literal = flags.filter;
  if (literal.starts_with('^')) literal.remove_prefix(1);
  if (literal.ends_with('$')) literal.remove_suffix(1);
  if (literal == id) return true;
  const bool negative = flags.filter.starts_with('-');
  const bool by_name = flags.selects(benchmark_name(id, steps)), by_id = flags.selects(id);
  return negative ? by_name && by_id : by_name || by_id;
}

void list_benchmarks(const BenchmarkFlags& flags, const std::vector<std::string>& ids, int steps) {
  initialize(flags, 1);
  for (const std::string& id : ids)
    benchmark::RegisterBenchmark(id.c_str(), [](benchmark::State&) {})->Iterations(steps)->UseManualTime();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

void report_benchmarks(const BenchmarkFlags& flags, std::span<const results::Record> records, int steps,
                       int repetitions) {
  initialize(flags, repetitions);
  bool any = false;
  for (const results::Record& record : records) {
    const bool failed = record.status == results::Status::failed;
    if (!failed && !record.measured) continue;
    any = true;
    auto* registered = benchmark::RegisterBenchmark(record.id.c_str(), Replay(record));
    registered->Iterations(steps)->UseManualTime();
    // Named "/repeats:N" by that, which only those are that differ from the others.
    const int launches = failed ? repetitions : static_cast<int>(record.measured->step_time_s.samples.size());
    if (launches != repetitions) registered->Repetitions(launches);
  }
  SilentReporter silent;
  if (any) benchmark::RunSpecifiedBenchmarks(flags.console ? nullptr : &silent);
  benchmark::Shutdown();
}

}  // namespace parabench::suite
