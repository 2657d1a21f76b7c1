// Command accuracy: predictions beside measurements over a set of cases, in several passes.
#pragma once

#include <CLI/App.hpp>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "suite/cases/selection.h"
#include "suite/cli/start.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

enum class AccuracyFormat { text, csv, json, markdown };
constexpr std::array<std::string_view, 4> names_of(AccuracyFormat) { return {"text", "csv", "json", "markdown"}; }

struct AccuracyOptions {
  Selection selection;
  std::vector<std::string> out = {"results/accuracy"};  ///< folders of passes; more than one to judge alone
  int passes = 4;
  bool judge = false;   ///< what is there, without running anything
  bool ablate = false;  ///< errors without each term of the model, too
  AccuracyFormat format = AccuracyFormat::text;
  RunOptions run;
};
AccuracyOptions accuracy_options();
void add_options(CLI::App& app, AccuracyOptions& options);
/// Throws usage_error for what does not go together.
void check(const AccuracyOptions& options);

/// Runs the passes that are not there yet, each over all cases in a shuffled order of its own with paired rounds, into
/// OUT/pass-1.json, pass-2.json, ..., each from a calibration of its own, OUT/pass-1.calibration.json and so on, unless
/// one is given, of which this is then a copy; what paired launches answer is kept in OUT/pass-1.rounds and so on. Goes
/// on where an earlier call was stopped; notes what passes that have ended lack of the chosen cases. Throws usage_error
/// where a pass has to be run and others that are there are of another machine. Then prints how right the predictions
/// were over all passes. An interrupted pass ends the command with its code, after what is there was judged.
ExitCode judge_accuracy(const AccuracyOptions& options, const Start& start);

}  // namespace parabench::suite
