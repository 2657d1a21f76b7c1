// What runs at a moment of a simulation, and when it ends, where cores are shared.
#pragma once

#include <vector>

#include "analytic/costs/time_model.h"

namespace parabench::analytic {

/// A running operation: a compute operation, a message (at its sender) or a collective (at its first member).
struct Activity {
  const plan::Op* op = nullptr;
  Rank rank;
  int lane = 0;  ///< the simulation's number of it
  int ends = 1;  ///< ranks that take part
};

/// Activities that share the cores of one node, as simulate.h says.
class SharingActivities {
 public:
  SharingActivities(const plan::Plan& plan, const TimeModel& time) : plan_(plan), time_(time) {}
  void start(const Activity& activity, double now);
  bool empty() const { return running_.empty(); }
  /// Appends the lanes of those that end next, all at one instant, to `ended` and returns the instant. Precondition:
  /// not empty.
  double finish(std::vector<int>& ended);

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

  const plan::Plan& plan_;
  const TimeModel& time_;
  double now_ = 0;
  std::vector<Running> running_;
};

}  // namespace parabench::analytic
