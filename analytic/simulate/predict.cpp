#include "analytic/simulate/predict.h"

#include <algorithm>
#include <vector>

#include "analytic/simulate/terms.h"
#include "base/statistics.h"

namespace parabench {
namespace {

/// Another model's costs, each operation `deviations` median absolute deviations slower.
class Shifted final : public CostModel {
 public:
  Shifted(const CostModel& base, double deviations) : base_(base), deviations_(deviations) {}
  double seconds(const Plan& plan, Rank rank, const Op& op, int busy_ranks) const override {
    const double shifted =
        base_.seconds(plan, rank, op, busy_ranks) + deviations_ * base_.deviation_s(plan, rank, op, busy_ranks);
    return std::max(0.0, shifted);
  }
  std::int64_t saved_bytes(const Plan& plan, Rank rank, const Op& op) const override {
    return base_.saved_bytes(plan, rank, op);
  }
  std::int64_t peak_bytes(const Plan& plan, Rank rank, const Op& op) const override {
    return base_.peak_bytes(plan, rank, op);
  }
  Link link(const Plan& plan) const override { return base_.link(plan); }
  DeviceOverhead device_overhead(const Plan& plan) const override { return base_.device_overhead(plan); }
  std::string assumption(const Plan& plan) const override { return base_.assumption(plan); }
  int cores() const override { return base_.cores(); }
  std::string source() const override { return base_.source(); }

 private:
  const CostModel& base_;
  double deviations_;
};

/// Median duration of the steps from `warmup` on. `plan` is unrolled.
double steady_step(const Plan& plan, const Timeline& timeline, int warmup) {
  std::vector<double> durations = step_durations(plan, timeline);
  durations.erase(durations.begin(), durations.begin() + warmup);
  return median(durations);
}

}  // namespace

Predicted predict(const Plan& plan, const ModelSpec& model, const CostModel& cost, int warmup, int steps) {
  const Plan window = unroll(plan, warmup + steps);
  const Timeline timeline = simulate(window, cost);
  Predicted result;
  result.step_time_s = steady_step(window, timeline, warmup);
  if (!plan.asynchronous) result.isolated_step_time_s = makespan(simulate(plan, cost));
  if (result.step_time_s > 0) result.throughput_samples_per_s = batch_samples(plan) / result.step_time_s;
  result.interval_s = {result.step_time_s, result.step_time_s};
  if (cost.source() == "calibrated") {
    constexpr double deviations = 1.96 * 1.4826;
    const auto shifted = [&](double by) { return steady_step(window, simulate(window, Shifted(cost, by)), warmup); };
    result.interval_s = {shifted(-deviations), shifted(deviations)};
  }
  const std::vector<Breakdown> parts = breakdowns(window, timeline, warmup);
  for (int rank = 0; rank < static_cast<int>(plan.ranks.size()); ++rank) {
    result.ranks.push_back({.rank = rank,
                            .peak_memory = peak_memory(window, model, cost, timeline, Rank(rank)),
                            .breakdown_s = parts[rank]});
  }
  result.terms = terms_of(plan, model, cost, result.ranks, result.step_time_s);
  result.second_opinion_step_time_s = second_opinions(plan, model, cost);
  return result;
}

}  // namespace parabench
