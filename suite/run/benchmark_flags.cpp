#include "suite/run/benchmark_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <iterator>
#include <limits>
#include <sstream>

#include "base/enum_text.h"
#include "base/error.h"
#include "base/pattern.h"

namespace parabench::suite {
namespace {

struct Flag {
  std::string_view name;          ///< without --benchmark_
  std::string_view instead = {};  ///< refused: what to use; "" passes on
  bool truth = false;             ///< a switch: needs no value
  std::string_view values = {};   ///< what it accepts, blank-separated; "" anything
};

// Google Benchmark 1.7.1, and dry_run of 1.9.1.
constexpr std::array<Flag, 17> known_flags{{
    {"list_tests", {}, true},
    {"filter"},
    {"repetitions"},
    {"report_aggregates_only", {}, true},
    {"display_aggregates_only", {}, true},
    {"format", {}, false, "console json csv"},
    {"out"},
    {"out_format", {}, false, "console json csv"},
    {"color", {}, false, "auto yes no true false on off 1 0"},
    {"counters_tabular", {}, true},
    {"context"},
    {"time_unit", {}, false, "ns us ms s"},
    {"min_time", "--steps N sets the steps of each launch, --iterations N those of communicate"},
    {"min_warmup_time", "--warmup N sets the steps or iterations before the timed ones"},
    {"enable_random_interleaving", {}, true},
    {"perf_counters", "counters of this program would say nothing about the ranks"},
    {"dry_run", "--dry-run prints the commands, --steps 1 --warmup 0 runs a single step"},
}};

constexpr std::string_view prefix = "--benchmark_";

/// Google Benchmark's reading of a switch.
bool is_on(std::string_view value) {
  std::string lower(value);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array<std::string_view, 6> off{"0", "f", "n", "false", "no", "off"};
  return std::ranges::find(off, lower) == off.end();
}

const Flag& find_flag(std::string_view word, std::string_view name) {
  const auto found = std::ranges::find(known_flags, name, &Flag::name);
  if (found != known_flags.end()) return *found;
  std::vector<std::string> known;
  for (const Flag& flag : known_flags) known.push_back(fmt::format("{}{}", prefix, flag.name));
  throw usage_error("option", word, "an option of Google Benchmark",
                    nearest_hint(word.substr(0, word.find('=')), known));
}

std::string twin(const Flag& flag) {
  std::string name = fmt::format("BENCHMARK_{}", flag.name);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

int read_count(std::string_view subject, std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1) {
    throw usage_error(subject, text, fmt::format("an integer from 1 to {}", std::numeric_limits<int>::max()));
  }
  return count;
}

/// Google Benchmark prints its usage and exits with 0 at a value that it does not know.
void require_known(const Flag& flag, std::string_view subject, std::string_view value) {
  std::istringstream words{std::string(flag.values)};
  const std::vector<std::string> known{std::istream_iterator<std::string>(words), {}};
  if (!known.empty()) index_of_name(subject, value, std::vector<std::string_view>(known.begin(), known.end()));
}

void apply(BenchmarkFlags& flags, const Flag& flag, std::string_view subject, std::string_view value) {
  if (!flag.instead.empty() && is_on(value)) throw usage_error(subject, value, "to be left out", flag.instead);
  require_known(flag, subject, value);
  if (flag.name == "filter") {
    flags.filter = value.empty() || value == "all" ? "." : value;
    flags.selects("");
  } else if (flag.name == "repetitions") {
    flags.repetitions = read_count(subject, value);
  } else if (flag.name == "enable_random_interleaving") {
    flags.interleave = is_on(value);
  } else if (flag.name == "list_tests") {
    flags.list_tests = is_on(value);
  } else if (flag.name == "format") {
    flags.console = true;
  } else if (flag.name == "out") {
    flags.out = value;
  }
}

}  // namespace

bool BenchmarkFlags::selects(const std::string& benchmark_name) const {
  const bool negative = filter.starts_with('-');
  return finds_pattern("--benchmark_filter", std::string_view(filter).substr(negative), PatternSyntax::extended,
                       benchmark_name) != negative;
}

bool is_benchmark_flag(std::string_view word) { return word.starts_with(prefix) || word.starts_with("--v="); }

BenchmarkFlags read_benchmark_flags(std::span<const std::string> words,
                                    const std::function<const char*(const char*)>& environment) {
  BenchmarkFlags flags;
  for (const Flag& flag : known_flags) {
    const std::string name = twin(flag);
    if (const char* value = environment(name.c_str())) apply(flags, flag, name, value);
  }
  for (const std::string& word : words) {
    flags.passed.push_back(word);
    if (word.starts_with("--v=")) continue;
    const std::size_t equals = word.find('=');
    const Flag& flag = find_flag(word, std::string_view(word).substr(prefix.size(), equals - prefix.size()));
    const std::string subject = word.substr(0, equals);
    if (equals == std::string::npos && !flag.truth && flag.instead.empty()) {
      throw usage_error("option", word, fmt::format("{}=VALUE", word));
    }
    apply(flags, flag, subject, equals == std::string::npos ? "true" : word.substr(equals + 1));
  }
  return flags;
}

}  // namespace parabench::suite
