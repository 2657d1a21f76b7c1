// Google Benchmark as the driver of cases.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "suite/cli/benchmark_flags.h"

namespace parabench::suite {

/// What one repetition of a case hands over.
struct Repetition {
  std::vector<double> step_times_s;                      ///< one per iteration; empty: failed
  std::string failure;                                   ///< why, when failed
  std::vector<std::pair<std::string, double>> counters;  ///< finite numbers; names must not be Google Benchmark's own
};

struct DrivenCase {
  std::string id;
  int steps = 1;                       ///< iterations of a repetition
  int batch = 1;                       ///< items of an iteration
  std::function<Repetition()> repeat;  ///< called once per repetition
};

/// Google Benchmark's name of a case: the id and its suffixes.
std::string benchmark_name(const std::string& id, int steps);

/// Runs (or, with list_tests, lists) the cases in order: manual time, one call of `repeat` per repetition, its step
/// times being the iterations. The flags that pass on do what they always do; stdout is written only for list_tests
/// and where flags.console. May be called once per process.
void drive(const BenchmarkFlags& flags, int repetitions, const std::vector<DrivenCase>& cases);

}  // namespace parabench::suite
