// Command predict: what the models say of cases.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "analytic/costs/emulation.h"
#include "base/error.h"
#include "suite/cli/start.h"

namespace parabench::suite {

struct PredictOptions {
  std::vector<std::string> cases;
  std::string schedule;  ///< the file of strategy csv; "" for none
  bool json = false;
  std::string calibration;           ///< "" for the file of this machine
  analytic::EmulatedCosts emulated;  ///< as in RunOptions
};
void add_options(CLI::App& app, PredictOptions& options);
/// Time and memory with every term's formula and origin.
ExitCode predict_cases(const PredictOptions& options, const Start& start);

}  // namespace parabench::suite
