// How long to wait between looks at what tells nobody that it has ended.
#pragma once

#include <algorithm>

namespace parabench::comm {

/// Seconds until the next look at something that has been on its way for `waited_s`: 1/16 of that, so much later its
/// end is seen at most, but 20 us at least and `longest_s` at most.
inline double pause_after(double waited_s, double longest_s) {
  return std::clamp(waited_s / 16, 20e-6, longest_s);
}

}  // namespace parabench::comm
