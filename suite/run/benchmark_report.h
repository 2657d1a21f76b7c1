// Measured times as Google Benchmark reports them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "results/exchange_record.h"
#include "results/record.h"
#include "suite/run/benchmark_flags.h"

namespace parabench::suite {

/// Google Benchmark's name of what has this id: the id and its suffixes.
std::string benchmark_name(const std::string& id, int iterations);

/// Whether --benchmark_filter selects it: by Google Benchmark's name, by its id, or as an id that is written out, with
/// `^` before it and `$` behind it or without, whose brackets then mean themselves.
bool selects(const BenchmarkFlags& flags, const std::string& id, int iterations);

/// Prints the names, as --benchmark_list_tests does.
void list_benchmarks(const BenchmarkFlags& flags, const std::vector<std::string>& ids, int iterations);

/// One benchmark with what was measured of it.
struct BenchmarkRow {
  std::string id;
  std::string error;                                     ///< of one that failed; "" for others
  std::vector<std::vector<double>> samples;              ///< seconds, [launch][iteration]
  std::int64_t items = 0, bytes = 0;                     ///< of an iteration; 0: not told
  std::vector<std::pair<std::string, double>> counters;  ///< the main numbers; those that are not finite are left out
};
/// Those that ran: a record is one of samples and steps, an exchange one of bytes.
std::vector<BenchmarkRow> benchmark_rows(std::span<const results::Record> records);
std::vector<BenchmarkRow> benchmark_rows(std::span<const results::ExchangeRecord> exchanges);

/// Hands them to Google Benchmark, for its console and its --benchmark_out: a repetition per launch, an iteration with
/// its measured time, and the counters. One of another number of launches than `repetitions` has "/repeats:N" in its
/// name. stdout is written only where flags.console. This and list_benchmarks may be called once per process
/// altogether.
void report_benchmarks(const BenchmarkFlags& flags, const std::vector<BenchmarkRow>& rows, int iterations,
                       int repetitions);

}  // namespace parabench::suite
