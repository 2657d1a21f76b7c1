// Two results files compared case by case: is B faster or slower than A, the same, or is that not to be told?
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_text.h"
#include "results/file.h"
#include "results/same_work.h"
#include "results/summary.h"

namespace parabench::results {

enum class Verdict { same, faster, slower, unclear };
constexpr std::array<std::string_view, 4> names_of(Verdict) { return {"SAME", "FASTER", "SLOWER", "UNCLEAR"}; }

struct CompareRules {
  double threshold = 0.05;  ///< >= 0; ratios from 1 / (1 + threshold) to 1 + threshold make no difference that matters
  double alpha = 0.05;      ///< in (0, 1): how often noise alone may look like a difference; intervals hold 1 - alpha
  std::vector<WorkAspect> allowed;                         ///< in which the work may differ
  std::optional<std::pair<std::string, std::string>> ids;  ///< one case of A with another of B; else each with itself
};

/// The two sides of one comparison. Times are medians of the launches' median steps (summary.h, launch_medians).
struct CaseComparison {
  std::string id_a, id_b;
  DeviceKind device = DeviceKind::cpu;
  std::size_t launches_a = 0, launches_b = 0;
  double median_a_s = 0, median_b_s = 0;
  double ratio = 1;  ///< median_b_s / median_a_s: over 1, B is slower
  // Of fewer launches than fewest_launches on either side there is neither of these.
  std::optional<std::pair<double, double>> interval;  ///< of the ratio: bootstrap_median_ratio over launches
  std::optional<double> p;                            ///< mann_whitney of the launches
  std::optional<double> noise;  ///< smallest_difference of the noisier file: ratios from exp(-noise) to exp(noise)
  Verdict verdict = Verdict::unclear;
  std::string reason;  ///< why UNCLEAR, and whether it is a tie: a ratio within the noise; "" otherwise
  /// About how many launches on either side would settle an UNCLEAR one: ratio and noise taken as they are, and widths
  /// to fall with the square root. nullopt where they are over 1000, as with a ratio at the threshold, and without an
  /// interval.
  std::optional<int> launches_to_settle;
};

/// The verdict on one case from its launches, every time > 0, none of them empty; `noise_a` and `noise_b` are those of
/// the files.
///   SLOWER  the interval lies above 1 + threshold, p < alpha, and ln(ratio) is over the noise
///   FASTER  the same with 1 / ratio
///   SAME    the interval lies within the threshold, and so does the noise: a difference would have been seen
///   UNCLEAR otherwise, and with fewer than fewest_launches on either side
/// Swapping the sides inverts ratio and interval and swaps FASTER and SLOWER. Three launches on either side give no
/// p < 0.05, so they can at best be SAME. Each case is judged by itself: alpha is not shared among many. Launches of a
/// case follow each other, so that neither interval nor noise knows how the machine drifts from one run to the next.
CaseComparison judge(std::span<const double> launches_a, std::span<const double> launches_b,
                     const std::optional<LaunchNoise>& noise_a, const std::optional<LaunchNoise>& noise_b,
                     const CompareRules& rules);

/// A row that has no counterpart, or does not count.
struct LeftOut {
  std::string id, reason;
  bool broken = false;  ///< it counts in A, and failed or became wrong in B
};

struct DeviceNoise {
  DeviceKind device;
  std::optional<LaunchNoise> a, b;
};

struct FilesComparison {
  std::vector<WorkDifference> allowed;  ///< differences in the work that the rules allow
  std::vector<ContextDifference> context;
  std::vector<DeviceNoise> noise;  ///< of the kinds of device that are compared
  std::vector<CaseComparison> cases;
  std::vector<LeftOut> left_out;
};

/// In the order of A's records. Throws usage_error where the work differs in what the rules do not allow, and for an id
/// of the rules that its file does not hold.
FilesComparison compare_files(const ResultsFile& a, const ResultsFile& b, const CompareRules& rules);

}  // namespace parabench::results
