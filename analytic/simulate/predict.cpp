#include "analytic/simulate/predict.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "analytic/closed_forms/second_opinion.h"
#include "analytic/costs/times_of.h"
#include "analytic/memory/peak_memory.h"
#include "analytic/simulate/jitter.h"
#include "analytic/simulate/loading.h"
#include "analytic/simulate/simulate.h"
#include "analytic/simulate/simulate_window.h"
#include "analytic/simulate/step_parts.h"
#include "analytic/simulate/terms.h"
#include "base/statistics.h"
#include "parallelism/plan/excerpt.h"
#include "parallelism/plan/strategies/two_copies.h"

namespace parabench::analytic {
namespace {

/// Another model's times, each operation `deviations` median absolute deviations slower.
class Shifted final : public TimesOf {
 public:
  Shifted(const TimeModel& base, double deviations) : TimesOf(base), deviations_(deviations) {}
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    const TimeParts parts = base_.parts(plan, rank, op, busy_ranks);
    const double shifted = parts.total() + deviations_ * base_.deviation_s(plan, rank, op, busy_ranks);
    return with_total(parts, std::max(0.0, shifted));
  }

 private:
  double deviations_;
};

/// Median duration of the measured steps.
double steady_step(const SimulatedWindow& window) {
  return median(plan::step_samples(window.plan, window.timeline, StepId(window.discarded)));
}

/// Of the plan's own steps, with nothing before and nothing behind them. `window`: theirs and of what follows.
double isolated_step(const plan::Plan& plan, const TimeModel& time, const SimulatedWindow& window) {
  const double seconds = follows_from_round_before(plan, time)
                             ? plan::step_completions(window.plan, window.timeline)[plan.steps - 1]
                             : plan::makespan(simulate(plan, time));
  return seconds / plan.steps;
}

/// A typical one of the measured steps, numbered as in the steps that were asked for.
std::optional<StepTimeline> typical_step(const SimulatedWindow& window, const plan::Window& asked) {
  std::optional<StepTimeline> step = plan::excerpt(window.plan, window.timeline, StepId(window.discarded));
  if (!step) return step;
  step->first_step += asked.discarded - window.discarded;
  step->last_step += asked.discarded - window.discarded;
  return step;
}

}  // namespace

Predicted predict(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time, const MemoryModel& memory,
                  int warmup, int steps, const plan::Plan& counted) {
  const Jittered jittered(time, plan);
  // A rank alone waits for nobody.
  const bool meet_unequal = plan.spec.np > 1 && time.cores() > 0 && time.is_measured();
  const TimeModel& simulated = meet_unequal ? jittered : time;
  plan::Window asked = plan::window(plan, warmup, steps);
  // Of unequal steps, or rounds, every second is alike.
  if (meet_unequal && !plan.asynchronous && asked.samples % 2 != 0)
    asked = plan::window(plan, warmup, asked.measured + 1);
  const SimulatedWindow window = simulate_window(plan, simulated, asked);
  Predicted result;
  result.step_time_s = steady_step(window);
  if (!plan.asynchronous) result.isolated_step_time_s = isolated_step(plan, simulated, window);
  if (result.step_time_s > 0) result.throughput_samples_per_s = plan::trained_samples(plan) / result.step_time_s;
  result.interval_s = {result.step_time_s, result.step_time_s};
  if (time.is_measured()) {
    constexpr double deviations = 1.96 * deviation_per_mad;
    const auto shifted = [&](double by) { return steady_step(simulate_window(plan, Shifted(simulated, by), asked)); };
    result.interval_s = {shifted(-deviations), shifted(deviations)};
  }
  const std::vector<Breakdown> parts = plan::breakdowns(window.plan, window.timeline, StepId(window.discarded));
  const int ranks = counted.ranks.size() > plan.ranks.size() ? plan::ranks_of_copy(plan.spec) : std::ssize(plan.ranks);
  const std::vector<MemoryUsage> memories = peak_memories(window.plan, sizes, memory, window.timeline, ranks);
  result.timeline = typical_step(window, asked);
  for (int rank = 0; rank < ranks; ++rank) {
    result.ranks.push_back({.rank = Rank(rank), .peak_memory = memories[rank], .breakdown_s = parts[rank]});
  }
  wait_for_samples(result, plan, time);
  result.step_parts = step_parts(plan, time, busiest_rank(result.ranks));
  result.terms = terms_of(plan, sizes, time, memory, result.ranks, result.step_time_s, counted);
  result.second_opinion_step_time_s = second_opinions(counted, sizes, time);
  result.broken_assumptions = broken_assumptions(counted, time, result.second_opinion_step_time_s);
  return result;
}

}  // namespace parabench::analytic
