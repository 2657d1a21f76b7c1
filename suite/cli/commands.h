// The commands that need no ranks, calibrate and doctor: options in, text out.
#pragma once

#include <array>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "base/error.h"
#include "suite/cases/selection.h"
#include "suite/cli/tables.h"
#include "suite/run/progress.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

struct ListOptions {
  Selection selection;
  std::optional<WordTable> table;  ///< instead of cases
  bool json = false;
  std::string calibration;  ///< here and below: "" for the file of this machine
};
/// A table, or the chosen cases of the catalogue with model size, ranks, predicted seconds and bytes. Impossible cases
/// say why.
ExitCode list_cases(const ListOptions& options, std::ostream& out);

struct PredictOptions {
  std::vector<std::string> cases;
  std::string schedule;  ///< here and below: the file of strategy csv; "" for none
  bool json = false;
  std::string calibration;
};
/// Time and memory with every term's formula and origin.
ExitCode predict_cases(const PredictOptions& options, Progress& progress, std::ostream& out);

enum class PlanFormat { grid, text, svg, csv, json, trace };
enum class PlanCosts { unit, calibrated };
constexpr std::array<std::string_view, 6> names_of(PlanFormat) {
  return {"grid", "text", "svg", "csv", "json", "trace"};
}
constexpr std::array<std::string_view, 2> names_of(PlanCosts) { return {"unit", "calibrated"}; }

struct PlanOptions {
  std::string id;
  std::string schedule;
  PlanFormat format = PlanFormat::grid;
  PlanCosts costs = PlanCosts::unit;
  int steps = protocol::default_steps,
      warmup = protocol::default_warmup;  ///< the window of asynchronous strategies is their sum
  std::string calibration;
  std::optional<double> emulated_unit_s;  ///< as in RunOptions
};
/// The schedule as it will be executed, with its bubble.
ExitCode print_plan(const PlanOptions& options, Progress& progress, std::ostream& out);

struct CalibrateOptions {
  Selection selection;  ///< empty: the quick cases
  std::string device;   ///< "" for all
  std::string out;      ///< "" for the file of this machine
  LaunchOptions launches;
};
/// Measures this machine for the cases anew and adds to the file.
ExitCode calibrate_machine(const CalibrateOptions& options, Progress& progress, std::ostream& out);

struct DoctorOptions {
  LaunchOptions launches;
  bool json = false;
};
/// What works on this machine, what does not, what to type: host, calibration, launcher, two ranks, GPUs. ok where
/// cases on cpu run, else environment.
ExitCode examine_machine(const DoctorOptions& options, Progress& progress, std::ostream& out);

/// Checks a results file against its schema. Throws usage_error naming the first offending field.
ExitCode validate_file(const std::string& path, std::ostream& out);

}  // namespace parabench::suite
