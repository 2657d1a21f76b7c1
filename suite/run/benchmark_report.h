// Records as Google Benchmark reports them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/record.h"
#include "suite/run/benchmark_flags.h"

namespace parabench::suite {

/// Google Benchmark's name of a case: the id and its suffixes.
std::string benchmark_name(const std::string& id, int steps);

/// Whether --benchmark_filter selects the case: by Google Benchmark's name, by its id, or as an id that is written out,
/// with `^` before it and `$` behind it or without, whose brackets then mean themselves.
bool selects(const BenchmarkFlags& flags, const std::string& id, int steps);

/// Prints the names of the cases, as --benchmark_list_tests does.
void list_benchmarks(const BenchmarkFlags& flags, const std::vector<std::string>& ids, int steps);

/// Hands the records to Google Benchmark, for its console and its --benchmark_out: a repetition per launch, an
/// iteration per step with its measured time, and the main numbers as counters. Records that failed are errors; those
/// that did not run are left out. A record of another number of launches than `repetitions` has "/repeats:N" in its
/// name. stdout is written only where flags.console. This and list_benchmarks may be called once per process
/// altogether.
void report_benchmarks(const BenchmarkFlags& flags, std::span<const results::Record> records, int steps,
                       int repetitions);

}  // namespace parabench::suite
