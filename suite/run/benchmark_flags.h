// Google Benchmark's flags and their environment twins: which pass on, which mean something to us, which are refused.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parabench::suite {

struct BenchmarkFlags {
  std::vector<std::string> passed;  ///< for benchmark::Initialize, as given
  std::string filter = ".";         ///< --benchmark_filter: extended regular expression on Google Benchmark's names
  std::optional<int> repetitions;
  bool list_tests = false;
  bool interleave = false;  ///< --benchmark_enable_random_interleaving: --interleave and --shuffle of ours
  bool console = false;     ///< a format was asked for: stdout is Google Benchmark's
  std::string out;          ///< file of its JSON or CSV; "" for none

  /// As --benchmark_filter selects: searched, a leading '-' negates.
  bool selects(const std::string& benchmark_name) const;
};

/// Reads `--benchmark_*` and `--v=N`; a flag beats its twin BENCHMARK_*, which `environment` returns or null.
/// Throws usage_error for a misspelt flag, for one that would launch a case again, naming ours, and for a bad value.
BenchmarkFlags read_benchmark_flags(std::span<const std::string> flags,
                                    const std::function<const char*(const char*)>& environment);

/// Whether a word of the command line is one of Google Benchmark's flags.
bool is_benchmark_flag(std::string_view word);

}  // namespace parabench::suite
