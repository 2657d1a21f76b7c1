// Command predict: what the models say of cases.
#pragma once

#include <CLI/App.hpp>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytic/costs/emulation.h"
#include "base/error.h"
#include "suite/cli/start.h"

namespace parabench::suite {

enum class PredictFormat { text, csv, json };
constexpr std::array<std::string_view, 3> names_of(PredictFormat) { return {"text", "csv", "json"}; }

struct PredictOptions {
  std::vector<std::string> cases;
  std::string schedule;                 ///< the file of strategy csv; "" for none
  std::optional<PredictFormat> format;  ///< nullopt: text, of a sweep csv
  std::string calibration;              ///< "" for the file of this machine
  analytic::EmulatedCosts emulated;     ///< as in RunOptions
  int hosts = 0;                        ///< see set_hosts
  std::string hardware;                 ///< name or file of a data sheet; "" for this machine
  std::vector<std::string> what_if;     ///< joined by commas: see parse_what_if
  std::vector<std::string> sweep;       ///< likewise: see parse_sweep
};
void add_options(CLI::App& app, PredictOptions& options);
/// Throws usage_error for what does not go together.
void check(const PredictOptions& options);
/// Time and memory with every term's formula and origin. An impossible case is an error, but one line of a sweep.
ExitCode predict_cases(const PredictOptions& options, const Start& start);

}  // namespace parabench::suite
