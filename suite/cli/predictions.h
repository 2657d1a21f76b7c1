// What predict prints of one case: a text for people, an object for programs, a row for tables.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "analytic/costs/what_if.h"
#include "suite/run/outlook.h"
#include "suite/sweep/swept_cases.h"

namespace parabench::suite {

struct Prediction {
  SelectedCase chosen;
  std::optional<Outlook> outlook;  ///< nullopt: the case is impossible
  std::string reason;              ///< why; else ""
};

/// What all predictions of a command have in common.
struct PredictionSetting {
  std::optional<analytic::WhatIf> what_if;
  std::string hardware;         ///< name of the sheet; "" for this machine
  std::vector<SweptAxis> axes;  ///< of --sweep
  int hosts = 0;                ///< of --hosts; 0: not given
};

/// Step time, breakdown and memory of each rank (of more than 64, of each kind of rank), and every term with formula,
/// origin and date; with --what-if the terms as they are, as they would be, and the ratio of the two.
void print_prediction(const Prediction& prediction, const PredictionSetting& setting, std::ostream& out);

/// The same as an object.
nlohmann::json prediction_json(const Prediction& prediction, const PredictionSetting& setting);

/// The header of a table in CSV, and a case's row in it: id, the sweep's axes, and what a comparison of many cases
/// wants. What is not known, as all figures of an impossible case, is empty.
std::string prediction_csv_header(const PredictionSetting& setting);
std::string prediction_csv(const Prediction& prediction, const PredictionSetting& setting);

}  // namespace parabench::suite
