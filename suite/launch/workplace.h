// What the launches of one command share: machine, launcher, scratch folder, interruption.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analytic/calibration/machine.h"
#include "results/file.h"
#include "suite/cases/selection.h"
#include "suite/launch/launch.h"
#include "suite/run/forecast.h"
#include "suite/run/progress.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

/// Thrown at an interruption where there is nothing to keep.
struct Interrupted {};

struct Workplace {
  /// Without --launcher takes the usual one of the place, and says so. Throws usage_error where the batch system's
  /// variables cannot be read.
  Workplace(LaunchOptions launch_options, Progress& progress_line);

  LaunchOptions options;
  Progress& progress;
  analytic::MachineInfo machine = analytic::this_machine();
  LaunchHost host = this_host();
  Signals signals;
  ScratchFolder scratch;
  int launches = 0;
  std::vector<results::Host> hosts;      ///< of all ranks so far
  std::vector<std::string> notes;        ///< for whoever reads the numbers
  std::set<std::string> traces;          ///< files that were written
  std::set<std::string> shown_commands;  ///< beginnings of commands that stderr has seen in full
};

/// Sets the usual launcher of the place where none was given, and says so.
void settle_launcher(LaunchOptions& options, const Allocation& allocation, Progress& progress);

/// Adds what `known` does not name; of a host that both name the longer list of cpusets stays.
void add_hosts(std::vector<results::Host>& known, const std::vector<results::Host>& seen);

/// `launcher`, or `local` in the place of mpirun and srun for a build without MPI: whatever ranks it has are threads.
Launcher usable_launcher(const Launcher& launcher, const protocol::Offer& capabilities);

/// Refuses, before any rank starts, what no launch could do: a launcher that is not there or cannot start so many
/// processes. Cases whose communicator is not on offer are skipped later, with a reason of their own.
void check_launches(const std::vector<SelectedCase>& chosen, const Launcher& launcher,
                    const protocol::Offer& capabilities);

/// The same for one case.
void check_launch(const Case& spec, const Launcher& launcher, const protocol::Offer& capabilities);

/// Notes what a reader of the numbers should know, now and in the results, before launches of `processes` processes at
/// most (0: none), with `threads` computing threads at most: that cores are shared, that the host is busy, what the
/// launcher adds.
void note_machine(Workplace& workplace, int threads, int processes);

/// One launch with the command's options in a folder of its own, removed afterwards. The request's time-out is a
/// default. Shows on stderr the command of the first launch by a launcher in that many processes.
LaunchResult run(Workplace& workplace, LaunchRequest request);

/// Asks parabench-rank what it offers here, and remembers it. Throws environment_error when it cannot even start.
protocol::Offer probe_capabilities(Workplace& workplace);

/// The same, as remembered, else probed; `workplace` gets the usable launcher, and its machine the GPUs.
protocol::Offer find_capabilities(Workplace& workplace);

/// Why each product that a case asks for cannot be launched here (peer.h). Throws Interrupted, and usage_error for a
/// product that is unknown.
std::map<std::string, std::string> find_peers(const std::vector<SelectedCase>& chosen, Workplace& workplace);
/// Where the program that launches them is then.
std::filesystem::path peer_program(const Workplace& workplace);

/// Seconds that a launch should take whose ranks work so long, and after which it counts as hung.
double launch_seconds(double work_s);
double launch_patience(double work_s);

/// Seconds that a launch should take when all is well, start-up included.
double expected_seconds(protocol::Phase phase, const Forecast& forecast, int launch_steps);

/// Seconds after which a launch counts as hung: generous, since a prediction may be data-sheet or the machine busy.
double patience_seconds(protocol::Phase phase, const Forecast& forecast, int launch_steps);

}  // namespace parabench::suite
