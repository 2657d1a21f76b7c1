#include "suite/run/calibrate_first.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/counted.h"
#include "suite/machine/knowledge.h"
#include "suite/run/run_plan.h"

namespace parabench::suite {
namespace {

/// Passes of `accuracy`, which keep rounds, are of one launch each on purpose.
void note_single_launches(const std::vector<Prepared>& cases, const RunOptions& options, const CalibrationFile& file,
                          Progress& progress) {
  if (!options.rounds.empty()) return;
  const auto single = std::ranges::count_if(cases, [](const Prepared& one) {
    if (!one.runs() || one.finished || !one.forecast) return false;
    const std::optional<LaunchesBehind>& behind = one.forecast->predicted.calibrated_by;
    return behind && behind->launches == 1;
  });
  if (single == 0) return;
  progress.note(fmt::format("{} {} predicted from one calibration launch: {}; {} adds launches",
                            counted(single, "case"), single == 1 ? "is" : "are", unknown_spread,
                            to_calibrate(file, "--launches 3 --pause 5min")));
}

}  // namespace

void calibrate_first(std::vector<Prepared>& cases, const PrepareOptions& prepare_options, CalibrationFile& file,
                     const RunOptions& options, const Placements& placements, Workplace& workplace) {
  const Knowledge knowledge = knowledge_of(workplace.machine, file, options.emulated, placements);
  const std::vector<std::size_t> chosen = calibrations_of(cases, options, knowledge);
  if (chosen.empty()) return;
  workplace.progress.note(
      fmt::format("in {}, {}: measuring first what these cases need", file.path.string(),
                  file.content ? "the calibration lacks something" : "there is no calibration of this machine yet"));
  auto known = file.content;
  file.must_be_kept = false;
  for (const auto& failure : measure(workplace, cases, chosen, placements, known, file).failures) {
    workplace.progress.note(
        fmt::format("a calibration failed; where it leaves a gap, the data sheet predicts instead: {}", failure));
  }
  if (!file.unkept.empty())
    workplace.progress.note(fmt::format("the calibration serves this run alone: {}", file.unkept));
  if (file.content)
    forecast_again(cases, prepare_options, knowledge_of(workplace.machine, file, options.emulated, placements));
  for (const auto& one : cases)
    if (one.forecast && !one.forecast->gap.empty())
      workplace.progress.note(fmt::format("{}: {}", one.chosen.id, one.forecast->gap));
  note_single_launches(cases, options, file, workplace.progress);
}

}  // namespace parabench::suite
