// A model's constants from measurements.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace parabench::analytic {

/// Positive constants by which `log_ratios`, of each row log(predicted / measured), come near to zero: the least sum of
/// 2 s^2 (sqrt(1 + (r/s)^2) - 1), s = 0.1, in which a row that is far off counts by its distance and not by its square
/// (soft L1); by Levenberg and Marquardt's method in the logarithms of the constants. A constant that the rows say
/// nothing of stays at its start. Deterministic; a local minimum. O(rounds (rows k^2 + k^3)), k constants, and 2 k + 1
/// calls of log_ratios a round.
std::vector<double> fit_constants(std::span<const double> start,
                                  const std::function<std::vector<double>(std::span<const double>)>& log_ratios);

}  // namespace parabench::analytic
