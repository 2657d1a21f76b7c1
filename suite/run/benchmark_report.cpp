#include "suite/run/benchmark_report.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
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

BenchmarkRow row_of(const results::Record& record) {
  BenchmarkRow row{.id = record.id};
  if (record.status == results::Status::failed) {
    row.error = record.reason;
    return row;
  }
  row.samples = record.measured->step_time_s.samples;
  row.items = record.parameters.batch;
  row.counters = {{"flops_per_s", record.measured->achieved_flops_per_s},
                  {"peak_bytes", static_cast<double>(results::peak_bytes(*record.measured))}};
  if (record.predicted) row.counters.emplace_back("pred_step_s", record.predicted->step_time_s);
  if (record.error) row.counters.emplace_back("pred_rel_error", record.error->step_time_relative);
  return row;
}

BenchmarkRow row_of(const results::ExchangeRecord& exchange) {
  BenchmarkRow row{.id = exchange.id};
  if (exchange.status == results::Status::failed) {
    row.error = exchange.reason;
    return row;
  }
  row.samples = exchange.time_s->samples;
  row.bytes = exchange.exchange.bytes;
  row.counters = {{"algbw_bytes_per_s", *results::algorithm_bandwidth(exchange)},
                  {"busbw_bytes_per_s", *results::bus_bandwidth(exchange)}};
  if (exchange.predicted_time_s) row.counters.emplace_back("pred_s", *exchange.predicted_time_s);
  if (const auto error = results::time_error(exchange)) row.counters.emplace_back("pred_rel_error", *error);
  return row;
}

/// The next launch of a row, each time it is called.
class Replay {
 public:
  explicit Replay(const BenchmarkRow& row) : row_(row) {}

  void operator()(benchmark::State& state) {
    if (!row_.error.empty()) {
      state.SkipWithError(row_.error.c_str());
      return;
    }
    const std::vector<double>& seconds = row_.samples.at(launch_++);
    auto time = seconds.begin();
    for ([[maybe_unused]] auto _ : state) state.SetIterationTime(*time++);
    if (row_.items > 0) state.SetItemsProcessed(state.iterations() * row_.items);
    if (row_.bytes > 0) state.SetBytesProcessed(state.iterations() * row_.bytes);
    for (const auto& [name, value] : row_.counters)
      if (std::isfinite(value)) state.counters[name] = value;
  }

 private:
  const BenchmarkRow& row_;
  std::size_t launch_ = 0;
};

void initialize(const BenchmarkFlags& flags, int repetitions) {
  static char program[] = "parabench";  // read again when the results are written
  std::vector<std::string> words = flags.passed;
  // They are filtered, and were measured in their order, already; these also silence environment twins.
  words.insert(words.end(), {"--benchmark_filter=all", fmt::format("--benchmark_repetitions={}", repetitions),
                             "--benchmark_enable_random_interleaving=false"});
  std::vector<char*> argv = {program};
  for (auto& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  benchmark::SetDefaultTimeUnit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv.data());
}

}  // namespace

std::string benchmark_name(const std::string& id, int iterations) {
  return fmt::format("{}/iterations:{}/manual_time", id, iterations);
}

bool selects(const BenchmarkFlags& flags, const std::string& id, int iterations) {
  std::string_view literal = flags.filter;
  if (literal.starts_with('^')) literal.remove_prefix(1);
  if (literal.ends_with('$')) literal.remove_suffix(1);
  if (literal == id) return true;
  const bool negative = flags.filter.starts_with('-');
  const bool by_name = flags.selects(benchmark_name(id, iterations)), by_id = flags.selects(id);
  return negative ? by_name && by_id : by_name || by_id;
}

void list_benchmarks(const BenchmarkFlags& flags, const std::vector<std::string>& ids, int iterations) {
  initialize(flags, 1);
  for (const std::string& id : ids)
    benchmark::RegisterBenchmark(id.c_str(), [](benchmark::State&) {})->Iterations(iterations)->UseManualTime();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

std::vector<BenchmarkRow> benchmark_rows(std::span<const results::Record> records) {
  std::vector<BenchmarkRow> rows;
  for (const results::Record& record : records)
    if (record.status == results::Status::failed || record.measured) rows.push_back(row_of(record));
  return rows;
}

std::vector<BenchmarkRow> benchmark_rows(std::span<const results::ExchangeRecord> exchanges) {
  std::vector<BenchmarkRow> rows;
  for (const results::ExchangeRecord& exchange : exchanges)
    if (exchange.status == results::Status::failed || exchange.time_s) rows.push_back(row_of(exchange));
  return rows;
}

void report_benchmarks(const BenchmarkFlags& flags, const std::vector<BenchmarkRow>& rows, int iterations,
                       int repetitions) {
  initialize(flags, repetitions);
  for (const BenchmarkRow& row : rows) {
    auto* registered = benchmark::RegisterBenchmark(row.id.c_str(), Replay(row));
    // A case whose steps come in rounds has as many samples as it has rounds.
    const bool sampled = row.error.empty() && !row.samples.empty();
    registered->Iterations(sampled ? static_cast<int>(row.samples.front().size()) : iterations)->UseManualTime();
    // Named "/repeats:N" by that, which only those are that differ from the others.
    const int launches = row.error.empty() ? static_cast<int>(row.samples.size()) : repetitions;
    if (launches != repetitions) registered->Repetitions(launches);
  }
  SilentReporter silent;
  if (!rows.empty()) benchmark::RunSpecifiedBenchmarks(flags.console ? nullptr : &silent);
  benchmark::Shutdown();
  // A program may run cases several times, and the rows end with this call.
  benchmark::ClearRegisteredBenchmarks();
}

}  // namespace parabench::suite
