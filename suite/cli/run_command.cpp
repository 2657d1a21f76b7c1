#include "suite/cli/run_command.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/called.h"
#include "suite/cases/catalogue.h"
#include "suite/cli/options.h"
#include "suite/run/session.h"

namespace parabench::suite {
namespace {

std::string quick_results_path() {
  const char* folder = std::getenv("PARABENCH_OUT");
  return fmt::format("{}/quick.json", folder && *folder ? folder : "results/out");
}

}  // namespace

RunCommand quick_command() {
  RunCommand command{.quick = true};
  command.options.steps = 10;
  command.options.stopping.repetitions = 3;
  command.options.json = quick_results_path();
  return command;
}

void add_options(CLI::App& app, RunCommand& command) {
  if (command.quick) {
    add_filter(app, command.selection);
  } else {
    add_selection(app, command.selection);
  }
  add_run_options(app, command.options);
}

void take_benchmark_flags(RunCommand& command, const std::vector<std::string>& flags, const CLI::App& app) {
  RunOptions& options = command.options;
  take_benchmark_flags(options, flags, app);
  const bool chooses =
      command.quick || !command.selection.empty() || options.benchmark.filter != "." || options.benchmark.list_tests;
  if (!chooses) {
    throw usage_error("run", "", "a CASE, --set, --filter or --where",
                      to_type("list shows the cases, list --sets the sets; --filter . runs the whole catalogue"));
  }
}

ExitCode run_or_quick(const RunCommand& command, const Start& start) {
  RunOptions options = command.options;
  // The folder of quick's own file; one that the user names must be there.
  if (command.quick && options.json == quick_results_path()) {
    std::error_code ignored;
    if (options.dry_run)
      options.json.clear();
    else
      std::filesystem::create_directories(std::filesystem::path(options.json).parent_path(), ignored);
  }
  const std::vector<Case> usual = command.quick ? quick_cases() : catalogue();
  return run_cases(select(command.selection, usual), options, start.argv, start.progress, start.out);
}

}  // namespace parabench::suite
