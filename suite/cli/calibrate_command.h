// Command calibrate: measures this machine.
#pragma once

#include <iosfwd>
#include <string>

#include "base/error.h"
#include "suite/cases/selection.h"
#include "suite/run/progress.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

struct CalibrateOptions {
  Selection selection;  ///< empty: the quick cases
  std::string device;   ///< "" for all
  std::string out;      ///< "" for the file of this machine
  LaunchOptions launches;
};
/// Measures this machine for the cases anew and adds to the file.
ExitCode calibrate_machine(const CalibrateOptions& options, Progress& progress, std::ostream& out);

}  // namespace parabench::suite
