// A time as the sum of what takes it.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace parabench {

/// Seconds. What each part holds depends on where the time comes from.
///  - Data sheet: a layer's roofline is `compute` where its arithmetic is the longer side and `memory` where its bytes
///    are; `launch` is what launching its operations adds to that. Gradients and updates are `memory`. Messages and
///    collectives: `latency` is what they would take without bytes, `transfer` the rest, but for what a rank copies
///    before a gather, which is `memory`.
///  - Calibrated: nothing told the roofline's sides apart when a layer was measured: all of it is `compute`. `launch`
///    is the executor's own time per operation, and what launches add to a layer on a GPU. Gradients and updates are
///    `memory`. `latency` is what the smallest measured message or reduction takes, `transfer` the rest, but for
///    copies before a gather, which are `memory`.
///  - Unit costs: all is `compute`.
struct TimeParts {
  double compute = 0;
  double launch = 0;
  double memory = 0;
  double latency = 0;
  double transfer = 0;

  /// Their sum, added up in the order in which they stand.
  double total() const { return compute + launch + memory + latency + transfer; }
  bool operator==(const TimeParts&) const = default;
};

inline constexpr std::array<std::pair<std::string_view, double TimeParts::*>, 5> time_part_fields = {{
    {"compute", &TimeParts::compute},
    {"launch", &TimeParts::launch},
    {"memory", &TimeParts::memory},
    {"latency", &TimeParts::latency},
    {"transfer", &TimeParts::transfer},
}};

TimeParts& operator+=(TimeParts& parts, const TimeParts& others);
TimeParts operator*(double factor, TimeParts parts);

/// The same parts, their sum exactly `total`: sums in another order differ by rounding errors, of which the first part
/// that is not 0 takes what is left. Parts beyond the total are cut. Precondition: no part is negative, total >= 0.
TimeParts with_total(const TimeParts& parts, double total);

}  // namespace parabench
