#include "suite/run/time_left.h"

#include <algorithm>

#include "base/statistics.h"

namespace parabench::suite {

void TimeLeft::begin_case(double expected_s, double now_s) {
  ahead_s_ = std::max(0.0, ahead_s_ - expected_s);
  case_s_ = expected_s;
  case_began_s_ = now_s;
  is_in_case_ = true;
}

void TimeLeft::end_case(double now_s, bool is_typical) {
  if (is_typical && case_s_ > 0) ratios_.push_back((now_s - case_began_s_) / case_s_);
  is_in_case_ = false;
}

double TimeLeft::scale() const { return median(ratios_); }

std::optional<double> TimeLeft::seconds(double now_s) const {
  if (is_in_case_ && case_s_ == 0) return std::nullopt;
  const double scaled = scale();
  const double of_case = is_in_case_ ? std::max(0.0, case_s_ * scaled - (now_s - case_began_s_)) : 0;
  return of_case + ahead_s_ * scaled;
}

}  // namespace parabench::suite
