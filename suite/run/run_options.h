// What the command line says about running cases: one description, from which the command line, --help and the command
// that repeats a case are derived.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analytic/costs/emulation.h"
#include "base/enum_text.h"
#include "suite/cases/selection.h"
#include "suite/launch/launcher.h"
#include "suite/protocol/command.h"
#include "suite/run/benchmark_flags.h"
#include "suite/run/stopping.h"

namespace parabench::suite {

enum class VerifyMode { on, off, only };
constexpr std::array<std::string_view, 3> names_of(VerifyMode) { return {"on", "off", "only"}; }

struct LaunchOptions {
  Launcher launcher = parse_launcher("mpirun");
  bool launcher_given = false;  ///< by --launcher; else the place may choose another one
  std::string data;             ///< folder of data sets from files; "" for none
  bool skip_corrupt = false;
  std::optional<double> timeout_s;  ///< of every launch; nullopt: from the prediction
};

struct RunOptions {
  LaunchOptions launches;
  int steps = protocol::default_steps;
  int warmup = protocol::default_warmup;
  StoppingRule stopping;
  int retries = 0;                   ///< further attempts at a case that failed
  std::string json;                  ///< results file; "-" for stdout, "" for none
  std::string calibration;           ///< "" for the file of this machine
  analytic::EmulatedCosts emulated;  ///< what is given of the times of emulated devices
  VerifyMode verify = VerifyMode::on;
  std::string trace;    ///< folder of timelines; "" for none
  bool paired = false;  ///< one more launch of each case calibrates and trains in turn
  std::string rounds;   ///< folder that keeps what such launches answer; "" for none
  bool shuffle = false, resume = false;
  int first_round = 0;      ///< of --shuffle, whose rounds each have an order of their own
  bool interleave = false;  ///< launch by launch over the cases, not case by case
  bool fail_fast = false;
  bool force = false;  ///< also cases that are predicted to exceed the memory
  bool dry_run = false;
  bool fom = false;  ///< lines for ReFrame and Ramble below the table (results/fom.h)
  BenchmarkFlags benchmark;
};

/// Whether an option stands in the command that repeats a case.
enum class Repeated {
  always,    ///< its default differs between commands
  if_given,  ///< it changes what is run
  limits,    ///< it does not, but without it the case might not run to its end; where given
  never,     ///< it says where results go, or how far a suite goes
};

/// One option of `run` and `quick`.
struct RunOption {
  std::string_view name;   ///< "--steps"
  std::string_view value;  ///< what --help calls its value; "" for a switch
  std::string_view help;
  Repeated repeated = Repeated::never;
  void (*read)(RunOptions& options, std::string_view text) = nullptr;  ///< throws usage_error; text of a switch: "on"
  std::string (*text)(const RunOptions& options) = nullptr;            ///< as `read` reads it; "" where it is not given
  bool of_calibrate = false, of_doctor = false, of_communicate = false, of_accuracy = false;  ///< these have it, too

  /// Whether a file for `parabench sweep` may give it: one that says how cases run, not where results go.
  bool of_sweep() const { return repeated != Repeated::never || name == "--retries"; }
};
std::span<const RunOption> run_options();

/// Adds `--option value`, or the switch, unless the value is the default.
void add_if_given(std::vector<std::string>& words, const RunOption& option, const RunOptions& options);

/// `parabench run` with what runs the case again as these options did.
std::string repeating_command(const SelectedCase& chosen, const RunOptions& options);

/// Whether two such commands measure the same: all but how far a run may go.
bool measures_the_same(const std::string& command, const std::string& other);

/// The options of `command` that `other` does not have so, in their order: "--steps 5"; "none of its own" where there
/// are none.
std::string options_beyond(const std::string& command, const std::string& other);

/// An integer of at least `least`. Throws usage_error naming `option`, with the hint.
int read_integer(std::string_view option, std::string_view text, int least, std::string_view hint);

}  // namespace parabench::suite
