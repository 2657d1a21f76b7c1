#include "analytic/simulate/predict.h"

#include <algorithm>
#include <vector>

#include "analytic/closed_forms/second_opinion.h"
#include "analytic/memory/peak_memory.h"
#include "analytic/simulate/simulate.h"
#include "analytic/simulate/step_parts.h"
#include "analytic/simulate/terms.h"
#include "base/statistics.h"
#include "parallelism/plan/excerpt.h"

namespace parabench::analytic {
namespace {

/// Another model's times, each operation `deviations` median absolute deviations slower.
class Shifted final : public TimeModel {
 public:
  Shifted(const TimeModel& base, double deviations) : base_(base), deviations_(deviations) {}
  TimeParts parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const override {
    const TimeParts parts = base_.parts(plan, rank, op, busy_ranks);
    const double shifted = parts.total() + deviations_ * base_.deviation_s(plan, rank, op, busy_ranks);
    return with_total(parts, std::max(0.0, shifted));
  }
  int cores() const override { return base_.cores(); }
  bool shares_links() const override { return base_.shares_links(); }
  std::string source() const override { return base_.source(); }

 private:
  const TimeModel& base_;
  double deviations_;
};

/// Median duration of the steps from `warmup` on. `plan` is unrolled.
double steady_step(const plan::Plan& plan, const plan::Timeline& timeline, int warmup) {
  return median(plan::step_samples(plan, timeline, StepId(warmup)));
}

}  // namespace

Predicted predict(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time, const MemoryModel& memory,
                  int warmup, int steps) {
  const plan::Window asked = plan::window(plan, warmup, steps);
  const plan::Plan window = plan::unroll(plan, asked.steps());
  const plan::Timeline timeline = simulate(window, time);
  Predicted result;
  result.step_time_s = steady_step(window, timeline, asked.discarded);
  if (!plan.asynchronous) result.isolated_step_time_s = plan::makespan(simulate(plan, time)) / plan.steps;
  if (result.step_time_s > 0) result.throughput_samples_per_s = plan::trained_samples(plan) / result.step_time_s;
  result.interval_s = {result.step_time_s, result.step_time_s};
  if (time.source() == "calibrated") {
    constexpr double deviations = 1.96 * 1.4826;
    const auto shifted = [&](double by) {
      return steady_step(window, simulate(window, Shifted(time, by)), asked.discarded);
    };
    result.interval_s = {shifted(-deviations), shifted(deviations)};
  }
  const std::vector<Breakdown> parts = plan::breakdowns(window, timeline, StepId(asked.discarded));
  const std::vector<MemoryUsage> memories = peak_memories(window, sizes, memory, timeline);
  for (int rank = 0; rank < static_cast<int>(plan.ranks.size()); ++rank) {
    result.ranks.push_back({.rank = Rank(rank), .peak_memory = memories[rank], .breakdown_s = parts[rank]});
  }
  result.step_parts = step_parts(plan, time, busiest_rank(result.ranks));
  result.terms = terms_of(plan, sizes, time, memory, result.ranks, result.step_time_s);
  result.second_opinion_step_time_s = second_opinions(plan, sizes, time);
  result.timeline = plan::excerpt(window, timeline, StepId(asked.discarded));
  return result;
}

}  // namespace parabench::analytic
