// How long the rest of a run takes: what was predicted of its cases, scaled by what finished ones took.
#pragma once

#include <optional>
#include <vector>

namespace parabench::suite {

/// Estimates seconds from readings of a clock that its caller takes. The scale is the median over finished cases of
/// measured to expected seconds, with one more that took as long as expected: neither the first case nor one that was
/// waited for in vain moves it far.
class TimeLeft {
 public:
  /// A run that should take `expected_s` in all.
  explicit TimeLeft(double expected_s = 0) : ahead_s_(expected_s) {}

  /// Begins a case of which the run expects `expected_s`; 0: nothing is known of it.
  void begin_case(double expected_s, double now_s);
  /// Ends it; `is_typical`: it did all that was expected of it, so that its time tells something about others.
  void end_case(double now_s, bool is_typical);

  /// Of the case that has begun, and of those ahead; 0 where everything took longer than that. nullopt where nothing is
  /// known of the case that has begun.
  std::optional<double> seconds(double now_s) const;

 private:
  double scale() const;

  double ahead_s_;  ///< expected of the cases that have not begun
  double case_s_ = 0, case_began_s_ = 0;
  bool is_in_case_ = false;
  std::vector<double> ratios_ = {1};
};

}  // namespace parabench::suite
