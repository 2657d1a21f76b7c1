#include "suite/run/preflight.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "suite/run/emulate_option.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

/// Fails before anything runs where a file could not be written afterwards.
void require_writable(std::string_view option, const std::string& path) {
  if (path.empty() || path == "-") return;
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  std::error_code hidden;  // in a folder that cannot be searched: access says so
  if (fs::is_directory(path, hidden)) throw usage_error(option, path, "a file that can be written", "it is a folder");
  const bool there = fs::exists(path, hidden);
  if (access(there ? path.c_str() : folder.c_str(), W_OK) == 0) return;
  const std::string cause = std::strerror(errno);
  throw usage_error(option, path, "a file that can be written",
                    fs::is_directory(folder, hidden) ? cause : "make its folder first");
}

void check_files(const RunOptions& options) {
  if (options.json == "-" && options.benchmark.console) {
    throw usage_error("--json", "-", "one owner of stdout", "write to a file, or leave out --benchmark_format");
  }
  if (options.fom && (options.json == "-" || options.benchmark.console)) {
    throw usage_error("--fom", options.json == "-" ? "--json -" : "--benchmark_format", "stdout for the table",
                      "give --json FILE, and --benchmark_out FILE");
  }
  require_writable("--json", options.json);
  require_writable("--benchmark_out", options.benchmark.out);
  if (options.resume && (options.json.empty() || options.json == "-")) {
    throw usage_error("--resume", options.json.empty() ? "no --json" : "--json -", "a file to go on with",
                      "give --json FILE as the run that stopped did");
  }
  std::error_code error;
  const auto& data = options.launches.data;
  if (!data.empty() && !fs::is_directory(data, error))
    throw usage_error("--data", data, "a folder that exists", error ? error.message() : "");
  if (!data.empty() && access(data.c_str(), R_OK | X_OK) != 0)
    throw usage_error("--data", data, "a folder that can be read", std::strerror(errno));
  if (options.trace.empty()) return;
  fs::create_directories(options.trace, error);
  if (error || access(options.trace.c_str(), W_OK) != 0) {
    throw usage_error("--trace", options.trace, "a folder that can be written");
  }
}

}  // namespace

void check_options(const std::vector<SelectedCase>& chosen, const RunOptions& options) {
  const StoppingRule& stopping = options.stopping;
  if (stopping.interval && stopping.most < stopping.repetitions) {
    throw usage_error("--max-repetitions", std::to_string(stopping.most),
                      fmt::format("at least the {} of --repetitions", stopping.repetitions));
  }
  for (const auto& one : chosen) {
    check_emulate_option(one.spec, options.emulated_unit_s);
    if (options.verify != VerifyMode::only || !is_emulated(one.spec)) continue;
    throw usage_error("--verify", "only", fmt::format("cases that train, not {}", one.id),
                      "emulated devices wait for modelled times; there is nothing to verify");
  }
}

void check_run(const std::vector<SelectedCase>& chosen, const RunOptions& options) {
  check_files(options);
  check_options(chosen, options);
}

}  // namespace parabench::suite
