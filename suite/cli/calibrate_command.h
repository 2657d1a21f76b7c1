// Command calibrate: measures this machine.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "base/error.h"
#include "suite/cases/selection.h"
#include "suite/cli/start.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

struct CalibrateOptions {
  Selection selection;  ///< empty: the quick cases
  std::string device;   ///< "" for all
  std::string out;      ///< "" for the file of this machine
  int rounds = 1;       ///< of launches
  double pause_s = 0;   ///< between two rounds
  bool fresh = false;   ///< instead of adding to what the file holds
  LaunchOptions launches;
};
void add_options(CLI::App& app, CalibrateOptions& options);
/// Measures this machine for the cases, whatever was measured before, and adds these launches to the file.
ExitCode calibrate_machine(const CalibrateOptions& options, const Start& start);

}  // namespace parabench::suite
