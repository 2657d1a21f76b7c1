// What each rank computes during one step, and when: enough to draw a schedule.
#pragma once

#include <string>
#include <vector>

namespace parabench {

/// An action as `plan --format text` writes it, in seconds from the begin of the excerpt.
struct TimedAction {
  std::string action;
  double begin_s = 0, end_s = 0;
  bool operator==(const TimedAction&) const = default;
};

/// The actions of the compute lanes that belong to the steps first_step..last_step of a window, by rank, in order.
struct StepTimeline {
  int first_step = 0, last_step = 0;
  std::vector<std::vector<TimedAction>> ranks;
  bool operator==(const StepTimeline&) const = default;
};

}  // namespace parabench
