// What a run does: which cases it calibrates for, and the launches of each case. `run` does it, --dry-run prints it.
#pragma once

#include <cstddef>
#include <vector>

#include "suite/run/prepare.h"

namespace parabench::suite {

struct PlannedLaunch {
  protocol::Phase phase = protocol::Phase::measure;
  int repetition = 0;   ///< of measure, from 1
  bool traced = false;  ///< it leaves a timeline
  bool timed = true;    ///< of measure: false where only its losses are looked at
};

/// Steps that a launch of a phase trains, and discarded ones before them.
struct LaunchSteps {
  int steps = 0, warmup = 0;
};
LaunchSteps steps_of(protocol::Phase phase, const RunOptions& options);

/// The launches of a case that runs, in order: one that verifies, unless that is switched off or nothing is trained;
/// then one that measures for each repetition, unless the case is only to be verified. Where an interval is asked for,
/// further ones that measure may follow. Last, where asked for, one that calibrates and trains in turn, of ranks of
/// ours that compute. Before another product is measured, it is handed over what to train; to verify it is to look at
/// its first losses.
std::vector<PlannedLaunch> launches_of(const Case& spec, const RunOptions& options);

/// The same with --interleave: turns that alternate with those of other cases, each but the last up to a launch that
/// measures.
std::vector<std::vector<PlannedLaunch>> turns_of(const Case& spec, const RunOptions& options);

/// The cases for which a calibration is launched before any other launch, in order: those that measured_first() finds,
/// none where cases are only verified and no time is compared with a prediction.
std::vector<std::size_t> calibrations_of(const std::vector<Prepared>& cases, const RunOptions& options,
                                         const Knowledge& knowledge);

}  // namespace parabench::suite
