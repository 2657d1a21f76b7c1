// How much launches of the same work differ on this machine, and what can be told all the same.
#pragma once

#include <optional>
#include <vector>

#include "suite/launch/workplace.h"
#include "suite/machine/doctor.h"

namespace parabench::suite {

/// Launches a small case again and again, for about `seconds` and at least fewest_launches times (results/summary.h).
/// Empty launches where one failed. Throws Interrupted.
struct NoiseMeasurement {
  std::vector<std::vector<double>> step_times_s;  ///< [launch][step]
  std::optional<double> stolen_share = {};  ///< of the processors' time meanwhile; nullopt: the kernel does not tell
  std::optional<double> core_spread = {};   ///< the largest Canary::matrix_product_spread of a launch
};
NoiseMeasurement measure_noise(Workplace& workplace, bool processes, double seconds);

/// Noise of these launches by results::launch_noise, differences that 5, 10 and 20 launches a side show, stolen time,
/// and whether cores are slower at times.
std::vector<Check> noise_checks(const NoiseMeasurement& measurement);

}  // namespace parabench::suite
