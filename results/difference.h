// How much longer one case takes than another, and whether that is more than noise.
#pragma once

#include <cmath>
#include <optional>
#include <span>

#include "results/record.h"

namespace parabench::results {

struct Difference {
  double relative = 0;  ///< 0.1: the one takes 10 % longer than the other
  double noise = 0;     ///< what no difference can be told below; 0 where nothing is known of it
  bool is_tie() const { return std::abs(relative) <= noise; }
};

/// Of median steps, each with its noise floor (NoiseFloor, or spread_of() passes), of which the larger counts.
Difference difference(double one_s, double other_s, std::optional<double> one_floor, std::optional<double> other_floor);

/// Of two records of a run by turns (--interleave). With as many launches of both, two or more, the median over rounds
/// of the ratio of their median steps, and spread_of() these ratios: what drifts from round to round is in both and
/// cancels. Else of their medians and noise floors. Precondition: both were measured.
Difference difference_by_turns(const Record& one, const Record& other);

}  // namespace parabench::results
