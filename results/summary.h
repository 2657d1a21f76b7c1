// What follows from records: which rows count, their errors, and means over them. Everything that shows, averages or
// compares results asks here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/placement.h"
#include "results/record.h"

namespace parabench::results {

/// The one rule for whether a row enters means, baselines, speed-ups, verdicts and figures: it was measured to its end
/// (status ok), and trains what its reference trains. A row whose equivalence was not checked (--verify off, emulated
/// devices, a reference that no rank can hold) counts too, but is shown as such and averaged apart: see is_checked().
bool counts(const Record& record);
/// Why a row does not count, for people: "failed: rank 1 was killed"; "" where it counts.
std::string why_not_counted(const Record& record);
/// Whether the equivalence check decided: passed or failed.
bool is_checked(const Record& record);
/// Whether the case trains something else than its reference: other updates, or other losses.
bool differs(const Equivalence& equivalence);

/// Whether a case trains by design something else than sequential training of its batches: older weights, copies by
/// themselves, compressed gradients.
bool trains_otherwise(const Record& record);

/// Counted bytes of the rank that needs most; 0 where none counts (emulated devices).
std::int64_t peak_bytes(const Measured& measured);
std::int64_t peak_bytes(const Predicted& predicted);

/// On which hosts its ranks were.
Placement placement_of(const Measured& measured);
/// Largest resident set of a rank; 0 where it is not known.
std::int64_t resident_bytes(const Measured& measured);
std::int64_t resident_bytes(const Predicted& predicted);

/// The interval that the spread of the calibrated costs gives; nullopt where costs have none, as those of a data sheet.
std::optional<std::pair<double, double>> known_interval(const Predicted& predicted);

/// How far repeated measurements are from each other: the mean over all of |x - m| / m, x being the median of the
/// others. Precondition: at least two, none of them 0.
double spread_of(std::span<const double> measured);

/// With two launches or more spread_of() their median steps; of one launch what the spread of calibrated costs lets
/// expect, sqrt(2 / pi) of its standard deviation. nullopt where there is neither.
std::optional<NoiseFloor> noise_floor(const Predicted& predicted, const Measured& measured);

/// Whether an error is no larger than the noise, so that nobody can tell whether the model or the machine is behind it.
/// Marked in tables and texts that show both.
bool is_within(double error, const NoiseFloor& floor);

/// "3.2 %", or "~3.2 %" where it is the calibration's; beside an error that is_within() it "3.2 %, within"; "-" where
/// it is not finite.
std::string noise_percent(const NoiseFloor& floor, double error);

/// The error of a prediction against the measured median. Precondition: both name the same ranks in the same order.
PredictionError compare(const Predicted& predicted, const Measured& measured, std::span<const PairedRound> paired = {});

/// (predicted - measured) / measured of the median step time, of peak_bytes() and of resident_bytes(); not finite where
/// there is nothing to divide by, or no resident memory was predicted. nullopt unless the record was both predicted and
/// measured.
struct CaseError {
  double step_time, peak_memory, resident_memory;
};
std::optional<CaseError> case_error(const Record& record);

/// Mean absolute errors over the rows of one kind that count.
struct MeanError {
  bool emulated = false, checked = false;
  int cases = 0;
  double step_time = 0;
  std::optional<double> adjusted;     ///< of the step time without drift, over those that have one
  std::optional<double> paired;       ///< of the paired step time, likewise
  std::optional<double> peak_memory;  ///< over those whose memory was counted
  /// Mean noise of the step time, over those that have one; of launches where that of all is.
  std::optional<NoiseFloor> noise_floor;
};
/// "checked", "unchecked" or "emulated".
std::string_view kind_of(const MeanError& mean);
/// One for each kind that has rows, checked before unchecked before emulated ones.
std::vector<MeanError> mean_errors(std::span<const Record> records);
std::vector<MeanError> mean_errors(std::span<const Record* const> records);

/// The median step of each launch, in seconds: launches are what varies independently, while steps of one launch share
/// its placement, memory and clocks. Steps that are no positive number are left out, and launches without any other.
std::vector<double> launch_medians(const Measured& measured);

/// Launches of a case below which neither its noise nor a difference can be told.
inline constexpr std::size_t fewest_launches = 3;

/// How much launches of one and the same case differ on a machine: the one statistic for it.
///   sigma = 1.0484 x median of |ln(x_i / x_j)| over all pairs i < j of launch medians of one case, pooled over cases
/// which is the scale of Shamos (1976): for normal data the standard deviation, with 86 % of its efficiency, unmoved by
/// up to 29 % of strayed values (Rousseeuw and Croux 1993, section 2), and, since it needs no centre, free of the bias
/// of a median absolute deviation of three values. Logarithms make it relative and independent of the case's time.
struct LaunchNoise {
  double sigma = 0;            ///< standard deviation of ln(launch median): 0.01 is 1 %
  int cases = 0;               ///< with fewest_launches or more
  int launches = 0;            ///< of these cases
  int degrees_of_freedom = 0;  ///< launches - cases
};
/// Over the rows that count, on one kind of device, since processors and GPUs differ. nullopt where none has
/// fewest_launches.
std::optional<LaunchNoise> launch_noise(std::span<const Record> records, DeviceKind device);

/// The smallest |ln(ratio)| of the medians of `launches_a` and `launches_b` launches that noise alone exceeds with no
/// more than the probability `alpha` (Student's t, two-sided):
///   t(1 - alpha / 2, degrees of freedom) x sigma x sqrt(pi / 2 x (1 / launches_a + 1 / launches_b))
/// pi / 2 is what a median's variance has over a mean's for normal data and many values (Cramer 1946, 28.5); for
/// few it is less, 1.35 for three.
double smallest_difference(const LaunchNoise& noise, std::size_t launches_a, std::size_t launches_b, double alpha);

}  // namespace parabench::results
