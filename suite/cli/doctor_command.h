// Command doctor: what works here.
#pragma once

#include <iosfwd>

#include "base/error.h"
#include "suite/run/progress.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

struct DoctorOptions {
  LaunchOptions launches;
  bool json = false;
};
/// What works on this machine, what does not, what to type: host, calibration, launcher, two ranks, GPUs. ok where
/// cases on cpu run, else environment.
ExitCode examine_machine(const DoctorOptions& options, Progress& progress, std::ostream& out);

}  // namespace parabench::suite
