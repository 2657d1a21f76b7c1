// Command plan: the schedule of a case, drawn or written.
#pragma once

#include <CLI/App.hpp>
#include <array>
#include <string>
#include <string_view>

#include "analytic/costs/emulation.h"
#include "base/enum_text.h"
#include "base/error.h"
#include "suite/cli/start.h"
#include "suite/protocol/command.h"

namespace parabench::suite {

enum class PlanFormat { grid, text, svg, csv, json, trace };
enum class PlanCosts { unit, calibrated };
constexpr std::array<std::string_view, 6> names_of(PlanFormat) {
  return {"grid", "text", "svg", "csv", "json", "trace"};
}
constexpr std::array<std::string_view, 2> names_of(PlanCosts) { return {"unit", "calibrated"}; }

struct PlanOptions {
  std::string id;
  std::string schedule;  ///< the file of strategy csv; "" for none
  PlanFormat format = PlanFormat::grid;
  PlanCosts costs = PlanCosts::unit;
  int steps = protocol::default_steps,
      warmup = protocol::default_warmup;  ///< the window of asynchronous strategies is their sum
  std::string calibration;                ///< "" for the file of this machine
  analytic::EmulatedCosts emulated;       ///< as in RunOptions
  int hosts = 0;                          ///< see set_hosts
};
void add_options(CLI::App& app, PlanOptions& options);
/// The schedule as it will be executed, with its bubble.
ExitCode print_plan(const PlanOptions& options, const Start& start);

}  // namespace parabench::suite
