// Command predict: what the models say of cases.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "base/error.h"
#include "suite/run/progress.h"

namespace parabench::suite {

struct PredictOptions {
  std::vector<std::string> cases;
  std::string schedule;  ///< the file of strategy csv; "" for none
  bool json = false;
  std::string calibration;  ///< "" for the file of this machine
};
/// Time and memory with every term's formula and origin.
ExitCode predict_cases(const PredictOptions& options, Progress& progress, std::ostream& out);

}  // namespace parabench::suite
