#include "suite/run/preflight.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/writable.h"
#include "suite/run/emulate_option.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

/// Whether nothing is lost but earlier results.
bool may_be_replaced(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored) || fs::file_size(path, ignored) == 0) return true;
  try {
    const nlohmann::json document = read_json(path);
    return document.is_object() && document.contains("schema_version") && document.contains("records");
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void check_files(const RunOptions& options) {
  if (options.json == "-" && options.benchmark.console) {
    throw usage_error("--json", "-", "one owner of stdout", "write to a file, or leave out --benchmark_format");
  }
  if (options.fom && (options.json == "-" || options.benchmark.console)) {
    throw usage_error("--fom", options.json == "-" ? "--json -" : "--benchmark_format", "stdout for the table",
                      "give --json FILE, and --benchmark_out FILE");
  }
  require_writable_file("--json", options.json);
  if (!options.json.empty() && options.json != "-" && !may_be_replaced(options.json)) {
    throw usage_error("--json", options.json, "a new file, or one with results, which a run replaces",
                      "name another file");
  }
  require_writable_file("--benchmark_out", options.benchmark.out);
  require_writable_folder("--trace", options.trace);
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
}

void check_options(const std::vector<SelectedCase>& chosen, const RunOptions& options) {
  const StoppingRule& stopping = options.stopping;
  if (stopping.interval && stopping.most < stopping.repetitions) {
    throw usage_error("--max-repetitions", std::to_string(stopping.most),
                      fmt::format("at least the {} of --repetitions", stopping.repetitions));
  }
  for (const auto& one : chosen) {
    check_emulate_option(one.spec, options.emulated);
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
