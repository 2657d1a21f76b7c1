// The command line: words in, options of one command out.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "suite/cases/selection.h"
#include "suite/cli/calibrate_command.h"
#include "suite/cli/compare_command.h"
#include "suite/cli/doctor_command.h"
#include "suite/cli/export_command.h"
#include "suite/cli/list_command.h"
#include "suite/cli/plan_command.h"
#include "suite/cli/predict_command.h"
#include "suite/cli/report_command.h"
#include "suite/cli/sweep_command.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

struct RunCommand {
  Selection selection;
  RunOptions options;
  bool quick = false;  ///< the cases come from the quick set
};

struct ValidateCommand {
  std::string file;
};

/// Where `quick` writes unless told otherwise: quick.json in PARABENCH_OUT, else in results/out of the current
/// folder.
std::string quick_results_path();

/// Text that was asked for: --help, --version or completion.
struct TextAnswer {
  std::string text;
};

using Command = std::variant<TextAnswer, ListOptions, RunCommand, PredictOptions, PlanOptions, CalibrateOptions,
                             DoctorOptions, CompareOptions, ExportOptions, ReportOptions, SweepOptions,
                             SweepStatusOptions, SweepCollectOptions, ValidateCommand>;

/// Reads the words after the program's name. Throws usage_error for an unknown command or option (with the nearest
/// spelling), a missing or malformed value, or a `run` that chooses nothing.
Command parse_command_line(const std::vector<std::string>& words);

}  // namespace parabench::suite
