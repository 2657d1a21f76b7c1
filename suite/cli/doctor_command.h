// Command doctor: what works here.
#pragma once

#include <CLI/App.hpp>

#include "base/error.h"
#include "suite/cli/start.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

struct DoctorOptions {
  LaunchOptions launches;
  double noise_s = 30;  ///< for how long noise is measured; 0: not at all
  bool json = false;
};
void add_options(CLI::App& app, DoctorOptions& options);
/// What works on this machine, what does not, what to type: host, cores, disks, calibration, launcher, two ranks,
/// noise, GPUs; and how long sets of cases would take. ok where cases on cpu run, else environment.
ExitCode examine_machine(const DoctorOptions& options, const Start& start);

}  // namespace parabench::suite
