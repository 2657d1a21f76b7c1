// What a launch of phase paired answers: rounds, in each of which it calibrates between steps of the plan.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "analytic/simulate/rehearsal.h"
#include "base/canary.h"
#include "base/json_reader.h"
#include "base/measures.h"

namespace parabench::protocol {

/// Rounds of a launch, and seconds after which no further one begins.
inline constexpr int fewest_paired_rounds = 4, most_paired_rounds = 16;
inline constexpr double paired_launch_s = 10.5;
/// Steps of the plan between two calibrations, and discarded ones before them. A round has those on both its sides.
inline constexpr int paired_steps = 4, paired_warmup = 1;

struct PairedRound {
  analytic::Calibration calibration;  ///< of this round alone
  std::vector<double> step_s;         ///< of the plan's steps right before it and right after (plan::step_samples)
  /// Of these, in the mean over ranks (plan::breakdowns); nullopt: kept by a version that did not tell.
  std::optional<Breakdown> breakdown_s;
  /// Of a rehearsal of one window of the plan's steps, with its discarded ones; empty: of a plan that is not rehearsed,
  /// or kept by a version that did not.
  analytic::ComputeSeconds rehearsed_s;
};
struct PairedRounds {
  std::vector<PairedRound> rounds;
  std::optional<Canary> canary;  ///< of the launch; nullopt: on GPUs
};

nlohmann::json to_json(const PairedRounds& answer);
/// Throws usage_error naming the place, also for no rounds, for a round without steps, and for a time that is none.
PairedRounds paired_rounds_from_json(const JsonReader& reader);

}  // namespace parabench::protocol
