// parabench: the front program.

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <iostream>

#include "suite/cases/catalogue.h"
#include "suite/cli/command_line.h"
#include "suite/cli/validate_command.h"
#include "suite/launch/workplace.h"
#include "suite/run/session.h"

namespace parabench::suite {
namespace {

struct Dispatch {
  const std::vector<std::string>& argv;
  Progress& progress;
  std::ostream& out;

  ExitCode operator()(const TextAnswer& answer) const {
    out << answer.text;
    return ExitCode::ok;
  }
  ExitCode operator()(const ListOptions& options) const { return list_cases(options, out); }
  ExitCode operator()(const RunCommand& run) const {
    // The folder of quick's own file; one that the user names must be there.
    if (run.quick && run.options.json == quick_results_path()) {
      std::error_code ignored;
      std::filesystem::create_directories(std::filesystem::path(run.options.json).parent_path(), ignored);
    }
    return run_cases(select(run.selection, run.quick ? quick_cases() : catalogue()), run.options, argv, progress, out);
  }
  ExitCode operator()(const PredictOptions& options) const { return predict_cases(options, progress, out); }
  ExitCode operator()(const PlanOptions& options) const { return print_plan(options, progress, out); }
  ExitCode operator()(const CalibrateOptions& options) const { return calibrate_machine(options, progress, out); }
  ExitCode operator()(const DoctorOptions& options) const { return examine_machine(options, progress, out); }
  ExitCode operator()(const CompareOptions& options) const { return compare_results(options, out); }
  ExitCode operator()(const ExportOptions& options) const { return export_results(options, out); }
  ExitCode operator()(const SweepOptions& options) const { return make_sweep(options, out); }
  ExitCode operator()(const SweepStatusOptions& options) const { return sweep_status(options, out); }
  ExitCode operator()(const SweepCollectOptions& options) const { return collect_sweep(options, argv, out); }
  ExitCode operator()(const ValidateCommand& command) const { return validate_file(command.file, out); }
  ExitCode operator()(const ReportOptions& options) const { return report_results(options, progress, out); }
};

ExitCode run_program(const std::vector<std::string>& argv) {
  Progress progress(std::cerr, stderr_redraws());
  try {
    const Command command = parse_command_line({argv.begin() + 1, argv.end()});
    return std::visit(Dispatch{argv, progress, std::cout}, command);
  } catch (const Interrupted&) {
    progress.note("interrupted");
    return ExitCode::interrupted;
  } catch (const Error& error) {
    std::cerr << "parabench: " << error.what() << '\n';
    return error.code();
  } catch (const std::exception& error) {
    std::cerr << "parabench: " << error.what() << '\n';
    return ExitCode::case_failed;
  }
}

}  // namespace
}  // namespace parabench::suite

int main(int argc, char** argv) {
  const auto code = parabench::suite::run_program({argv, argv + argc});
  std::cout.flush();
  return static_cast<int>(code);
}
