// The steps of a run on paper, no more of them than tell all the others.
#pragma once

#include "analytic/costs/time_model.h"
#include "parallelism/plan/timeline.h"

namespace parabench::analytic {

/// Whether the times of a plan's rounds follow from where the round before left off, and from nothing that comes later:
/// ranks have cores to themselves, lanes keep the plan's order, and rounds (Window::round) follow each other in it.
/// Then ends are maxima of sums, and rounds that begin alike, some time apart, go on alike.
bool follows_from_round_before(const plan::Plan& plan, const TimeModel& time);

struct SimulatedWindow {
  plan::Plan plan;  ///< unrolled
  plan::Timeline timeline;
  int discarded = 0;  ///< steps at its beginning that are not measured
};

/// The plan (as made, not yet unrolled) over the steps of `asked`. Where follows_from_round_before(), and two rounds in
/// succession among those that are discarded or the first one behind them are alike to 1e-12 of the time so far, in
/// every span of every rank, so are all that follow: the window ends with the second of the two, which is measured
/// for all of them. Throws what simulate() throws.
SimulatedWindow simulate_window(const plan::Plan& plan, const TimeModel& time, const plan::Window& asked);

}  // namespace parabench::analytic
