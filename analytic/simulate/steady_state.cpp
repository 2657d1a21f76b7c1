#include "analytic/simulate/steady_state.h"

#include "analytic/simulate/simulate.h"
#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/timeline.h"

namespace parabench::analytic {
namespace {

double busy_seconds(const plan::Plan& window, const plan::Timeline& timeline, StepId first_step) {
  double busy = 0;
  for (std::size_t r = 0; r < window.ranks.size(); ++r) {
    const auto& ops = window.ranks[r].compute();
    const auto& spans = timeline.ranks[r][plan::compute_lane];
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (plan::is_pass(ops[i].kind) && ops[i].step >= first_step) busy += spans[i].end - spans[i].start;
    }
  }
  return busy;
}

}  // namespace

SteadyState steady_state(const plan::Plan& plan, const TimeModel& time) {
  constexpr int steps = 8, settled = 4;
  const plan::Plan window = plan::unroll(plan, steps);
  const plan::Timeline timeline = simulate(window, time);
  const std::vector<double> completions = plan::step_completions(window, timeline);
  const double seconds = completions.back() - completions[settled - 1];
  const double busy = busy_seconds(window, timeline, StepId(settled));
  return {.step_s = seconds / (steps - settled), .bubble_fraction = 1 - busy / (plan::computing_ranks(plan) * seconds)};
}

}  // namespace parabench::analytic
