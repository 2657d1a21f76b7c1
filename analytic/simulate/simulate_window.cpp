#include "analytic/simulate/simulate_window.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "analytic/simulate/simulate.h"

namespace parabench::analytic {
namespace {

/// Most pipelines are settled after their first step; what takes longer than this is simulated whole.
constexpr int most_rounds_until_alike = 4;

/// Whether the last two of several rounds of `once` are the same, some time apart.
bool last_two_alike(const plan::Plan& once, const plan::Plan& rounds, const plan::Timeline& timeline) {
  const std::vector<double> completions = plan::step_completions(rounds, timeline);
  const double apart = completions.back() - completions[completions.size() - 1 - once.steps];
  const double tolerance = 1e-12 * completions.back();
  const auto differ = [&](double before, double after) { return std::abs(after - before - apart) > tolerance; };
  for (std::size_t r = 0; r < once.ranks.size(); ++r) {
    for (std::size_t l = 0; l < once.ranks[r].lanes.size(); ++l) {
      const std::size_t size = once.ranks[r].lanes[l].ops.size();
      const auto& spans = timeline.ranks[r][l];
      for (std::size_t i = spans.size() - size; i < spans.size(); ++i) {
        const plan::Span &before = spans[i - size], &after = spans[i];
        if (differ(before.queued, after.queued) || differ(before.start, after.start) || differ(before.end, after.end))
          return false;
      }
    }
  }
  return true;
}

SimulatedWindow simulate_steps(const plan::Plan& plan, const TimeModel& time, int steps, int discarded) {
  SimulatedWindow window{.plan = plan::unroll(plan, steps), .timeline = {}, .discarded = discarded};
  window.timeline = simulate(window.plan, time);
  return window;
}

}  // namespace

bool follows_from_round_before(const plan::Plan& plan, const TimeModel& time) {
  return time.cores() == 0 && !plan.asynchronous && !plan.updates_late && plan.taken == 0 && !is_futurized(plan.spec);
}

SimulatedWindow simulate_window(const plan::Plan& plan, const TimeModel& time, const plan::Window& asked) {
  const int rounds = std::min(most_rounds_until_alike, asked.discarded / asked.round + 1);
  if (rounds > 1 && rounds * asked.round < asked.steps() && follows_from_round_before(plan, time)) {
    SimulatedWindow window = simulate_steps(plan, time, rounds * asked.round, (rounds - 1) * asked.round);
    if (last_two_alike(plan, window.plan, window.timeline)) return window;
  }
  return simulate_steps(plan, time, asked.steps(), asked.discarded);
}

}  // namespace parabench::analytic
