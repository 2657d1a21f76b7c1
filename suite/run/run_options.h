// What the command line says about running cases.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/enum_text.h"
#include "suite/cli/benchmark_flags.h"
#include "suite/launch/launcher.h"
#include "suite/protocol/command.h"

namespace parabench {

enum class VerifyMode { on, off, only };
template <>
inline constexpr std::array<std::string_view, 3> enum_names<VerifyMode>{"on", "off", "only"};

struct LaunchOptions {
  Launcher launcher = parse_launcher("mpirun");
  std::string data;  ///< folder of data sets from files; "" for none
  bool skip_corrupt = false;
  std::optional<double> timeout_s;  ///< of every launch; nullopt: from the prediction
};

struct RunOptions {
  LaunchOptions launches;
  int steps = default_steps;
  int warmup = default_warmup;
  int repetitions = 1;
  std::string json;                       ///< results file; "-" for stdout, "" for none
  std::string calibration;                ///< "" for the file of this machine
  std::optional<double> emulated_unit_s;  ///< unit costs of this length for emulated devices; nullopt: the processor's
  VerifyMode verify = VerifyMode::on;
  std::string trace;  ///< folder of timelines; "" for none
  bool fail_fast = false;
  bool force = false;  ///< also cases that are predicted to exceed the memory
  bool dry_run = false;
  BenchmarkFlags benchmark;
};

}  // namespace parabench
