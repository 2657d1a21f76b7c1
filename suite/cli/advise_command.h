// Command advise: which strategy trains a model fastest on so many ranks.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "suite/cli/predict_command.h"
#include "suite/cli/start.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

struct AdviseOptions {
  std::string model, dataset, keys, memory, hardware;
  int np = 0, batch = 0;
  int rows = 10;
  int hosts = 0;  ///< see set_hosts
  int best = 0;   ///< of the best, how many are run; 0: none
  PredictFormat format = PredictFormat::text;
  RunOptions run;  ///< how these are run; its calibration and emulated costs are also what predictions take
};
AdviseOptions advise_options();
void add_options(CLI::App& app, AdviseOptions& options);
/// Throws usage_error for what does not go together.
void check(const AdviseOptions& options);
/// Prints the candidates, and with --run measures the best of them that train as sequential training does, launch by
/// launch in turn, and says how much the predicted best loses on the measured best, or that it is a tie
/// (results::difference_by_turns).
ExitCode give_advice(const AdviseOptions& options, const Start& start);

}  // namespace parabench::suite
