// How right predictions were over many cases, each measured in several passes: the model's error, the forecast's, and
// how far passes are from each other.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/case.h"
#include "results/disturbance.h"
#include "results/file.h"

namespace parabench::results {

/// One case over all passes in which it counts. Errors are (predicted - measured) / measured, of several passes their
/// median.
struct JudgedCase {
  std::string id;
  Case parameters;
  int passes = 0;
  double measured_s = 0, predicted_s = 0;  ///< medians of step times
  double forecast = 0;                     ///< of predictions from calibrations that are older than the run
  std::optional<double> paired;            ///< of the model alone (run --paired)
  std::optional<double> paired_noise;      ///< standard error of that, by how far its rounds, or its passes, are apart
  std::optional<double> closure_apart;     ///< paired, of ranks that compute side by side and hardly ever meet
  std::optional<double> adjusted;          ///< the forecast with the drift taken out that canaries show (drift.h)
  std::optional<double> noise;             ///< spread_of() the passes' median steps; of one pass the record's floor
  std::optional<double> memory;            ///< of counted peak bytes
  std::optional<double> resident;          ///< of the largest resident set
  std::optional<double> per_rank;          ///< of T_1 / (np threads): the same pass's prediction of one core, divided
  std::optional<double> ddlbench;          ///< of DDLBench's equations (Jansen 2020), where they have one
  std::optional<double> held_out;          ///< the forecast's without what was measured at the case's own samples
  std::optional<double> stale;             ///< the forecast's from a calibration that is two hours older, or more
  Disturbance disturbance;                 ///< while it ran, the median over passes
  std::string choice;  ///< "picked" where predicted, "best" where measured to be the fastest of its group, or both
  /// Part of a step that is missed most, "backward -12 ms": in paired rounds, as the median, over them and over passes,
  /// of what it is in the mean over ranks; without such rounds by the forecast of the last pass on any rank. "" where
  /// that is not known.
  std::string largest_term;
};

/// Whether something is known of the cores while the case ran, and nothing of that is large.
bool is_known_undisturbed(const JudgedCase& one);

/// By DDLBench's equations, which are among the second opinions; nullopt where they have none.
std::optional<double> ddlbench_step_time(const Predicted& predicted);

/// Throws usage_error where the pass is of another machine than the one with this id (CalibrationOrigin::machine_id);
/// it names the pass by its calibration's file.
void require_machine(const ResultsFile& pass, std::string_view machine);

/// The cases of passes over a set, by id. A case counts in a pass as in counts(); whether it trains what its reference
/// trains may be checked in one pass alone. Throws usage_error for passes of different machines.
std::vector<JudgedCase> judged_cases(std::span<const ResultsFile> passes);

}  // namespace parabench::results
