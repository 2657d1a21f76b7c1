// Measures what predictions of cases need and nobody has measured yet.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytic/calibration/launches_behind.h"
#include "suite/launch/placements.h"
#include "suite/launch/workplace.h"
#include "suite/machine/knowledge.h"
#include "suite/run/prepare.h"

namespace parabench::suite {

/// Whether a case needs no more measurements: its forecast is calibrated, and not stretched to pieces of another
/// size than were measured.
bool is_measured(const Subject& subject, const Forecast& forecast, const analytic::Calibration* known);

/// The cases to measure so that all are measured, in order: every runnable one, emulated ones apart, that is not
/// measured in knowledge.calibration and will not be by the launches for those before it.
std::vector<std::size_t> measured_first(const std::vector<Prepared>& cases, const Knowledge& knowledge);

/// What a single launch does not tell, for messages.
inline constexpr std::string_view unknown_spread = "the spread is unknown";

/// A launch that was added to a calibration.
struct AddedLaunch {
  std::string id;                        ///< of its case
  analytic::Remeasured layers;           ///< beside what the file said before
  std::optional<LaunchesBehind> behind;  ///< of the layers that were known before; nullopt: there are none
  std::vector<std::string> left_out;     ///< dates of launches that newer ones have replaced
};

struct MeasureOutcome {
  std::vector<AddedLaunch> added;
  std::vector<std::string> failures;  ///< reasons of the launches that failed
};

/// Launches `--phase calibrate` for the cases with these indices, whose ranks are where `placements` says, adding each
/// answer to `known` and, at once, to `file`. With replicas=auto the plan depends on what was measured: where the new
/// one sums in groups that nobody measured, the case is launched again, at most twice. After a launch that failed,
/// cases behind it that counted on it are launched for themselves. A launch that was disturbed (disturbance.h) counts,
/// with a note. Throws Interrupted; what was measured before is kept.
MeasureOutcome measure(Workplace& workplace, const std::vector<Prepared>& cases, const std::vector<std::size_t>& chosen,
                       const Placements& placements, std::optional<analytic::Calibration>& known,
                       CalibrationFile& file);

}  // namespace parabench::suite
