// Forecasts with the machine's drift since their calibration taken out.
#pragma once

#include <optional>
#include <span>

#include "results/record.h"

namespace parabench::results {

/// ln(canary of the run / canary of the calibration behind the prediction), of the matrix product; of several launches
/// their median. The matrix product alone: divided by it, the spread of a step over minutes halves, while a triad does
/// not follow a step. nullopt where one of the two is not known, and where they differ by more than largest_drift
/// (base/canary.h).
std::optional<double> drift(const Record& record);

/// Other cases, and how far their drifts have to differ, for an exponent to be fitted. Of drifts that are all the same
/// nobody can tell a slower machine from a model that is always as much too low; and canaries of a machine that has not
/// changed differ, too: eight launches in a row by a standard deviation of 0.4 % (2-core virtual machine), of which a
/// fit has to see several times as much.
inline constexpr int fewest_drifts = 3;
inline constexpr double least_drift_deviation = 0.02;

/// Fills `error.adjusted` of every record with an error and a drift d, clearing that of the others:
///   relative = (predicted x exp(exponent x d) - measured) / measured
///   exponent = sum over j of d_j ln(measured_j / predicted_j) / sum over j of d_j^2, within [0, 2]
/// over the other records j of the span that count (summary.h) and have a drift: least squares through the origin,
/// since without drift there is nothing to adjust. 0: steps do not follow the canary, 1: they do. No record's own time
/// enters its exponent. nullopt with fewer than fewest_drifts others, or where the standard deviation of their drifts
/// is below least_drift_deviation. What the drifts have in common takes up what the model's errors have in common.
/// O(records).
void fill_adjusted_errors(std::span<Record> records);

}  // namespace parabench::results
