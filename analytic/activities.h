// What runs at a moment of a simulation, and when it ends: the two clocks of simulate().
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "analytic/cost_model.h"

namespace parabench {

/// A running operation: a compute operation, a message (at its sender) or a collective (at its first member).
struct Activity {
  int rank = 0;
  Lane lane = Lane::compute;
  int index = 0;
  int ends = 1;  ///< ranks that take part
  auto operator<=>(const Activity&) const = default;
};

/// Activities that never compete: each ends a fixed time after its start.
class IndependentActivities {
 public:
  IndependentActivities(const Plan& plan, const CostModel& cost) : plan_(plan), cost_(cost) {}
  void start(const Activity& activity, double now);
  bool empty() const { return heap_.empty(); }
  /// Moves those that end next, all at one instant, into `ended` and returns the instant. Precondition: not empty.
  double finish(std::vector<Activity>& ended);

 private:
  struct Entry {
    double end;
    Activity activity;
    auto operator<=>(const Entry&) const = default;
  };
  const Plan& plan_;
  const CostModel& cost_;
  std::vector<Entry> heap_;  ///< earliest first
};

/// Activities that share the cores of one node, as simulate.h says.
class SharingActivities {
 public:
  SharingActivities(const Plan& plan, const CostModel& cost) : plan_(plan), cost_(cost) {}
  void start(const Activity& activity, double now);
  bool empty() const { return running_.empty(); }
  double finish(std::vector<Activity>& ended);

 private:
  struct Running {
    Activity activity;
    double remaining = 1;   ///< share of the operation still to do
    double whole_s = 0;     ///< what all of it would take under the present load
    double measured_s = 0;  ///< whole_s while nothing but what it was measured with runs
    int measured_busy = 0;  ///< the busy ranks that measured_s holds for; 0: not asked yet
  };
  int demand(const Activity& activity) const;
  void reload();

  const Plan& plan_;
  const CostModel& cost_;
  double now_ = 0;
  std::vector<Running> running_;
};

}  // namespace parabench
