#include "analytic/simulate/predict_outline.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "analytic/closed_forms/second_opinion.h"
#include "analytic/simulate/outline_memory.h"
#include "analytic/simulate/pipeline_sweep.h"
#include "analytic/simulate/step_parts.h"
#include "analytic/simulate/swept_ops.h"
#include "analytic/simulate/terms.h"
#include "base/side_by_side.h"
#include "base/statistics.h"

namespace parabench::analytic {
namespace {

/// Over the measured steps, as plan::breakdown() has it.
Breakdown breakdown_of(const SweptPipeline& swept, std::span<const SweptOp> ops) {
  Breakdown sum;
  for (const SweptOp& op : ops) {
    if (op.step < swept.discarded) continue;
    const double split = std::clamp(op.made, op.span.queued, op.span.start);
    sum.bubble += split - op.span.queued;
    sum.communication_exposed += op.span.start - split;
    const double work = op.span.end - op.span.start;
    if (op.kind == plan::OpKind::forward) sum.forward += work;
    if (plan::makes_input_gradient(op.kind) || plan::makes_weight_gradient(op.kind)) sum.backward += work;
    if (op.kind == plan::OpKind::recompute) sum.recompute += work;
    if (op.kind == plan::OpKind::update) sum.update += work;
  }
  for (const auto& [name, part] : breakdown_fields)
    sum.*part /= static_cast<double>(std::ssize(swept.steps) - swept.discarded);
  return sum;
}

double median_step(const SweptPipeline& swept) {
  if (swept.period) return *swept.period;
  std::vector<double> seconds;
  for (std::size_t i = swept.discarded; i < swept.steps.size(); ++i)
    seconds.push_back(swept.steps[i].completed - (i == 0 ? 0 : swept.steps[i - 1].completed));
  return median(seconds);
}

/// The most that a rank computes in a step.
double most_computed(std::span<const RankPredicted> ranks) {
  double most = 0;
  for (const RankPredicted& rank : ranks) most = std::max(most, computing_s(rank.breakdown_s));
  return most;
}

std::vector<RankPredicted> of_all_ranks(const plan::PipelineOutline& outline, const SweptPipeline& swept,
                                        const Sizes& sizes, const MemoryModel& memory) {
  constexpr std::size_t together = 256;  // so many that what a piece makes ready for its first rank costs little
  const std::size_t ranks = outline.plan.ranks.size();
  std::vector<RankPredicted> all(ranks);
  const OutlineMemory before_any(outline, swept, sizes, memory);
  side_by_side((ranks + together - 1) / together, [&](std::size_t piece) {
    std::vector<SweptOp> ops;
    OutlineMemory memories = before_any;
    for (std::size_t r = piece * together; r < std::min(ranks, (piece + 1) * together); ++r) {
      const Rank rank(static_cast<int>(r));
      swept_ops(outline, swept, rank, ops);
      all[r] = {.rank = rank, .peak_memory = memories.of(rank, ops), .breakdown_s = breakdown_of(swept, ops)};
    }
  });
  return all;
}

}  // namespace

Predicted predict_outline(const plan::PipelineOutline& outline, const Sizes& sizes, const TimeModel& time,
                          const MemoryModel& memory, int warmup, int steps) {
  const SweptPipeline swept = sweep(outline, time, plan::window(outline.plan, warmup, steps));
  const plan::Plan& plan = outline.plan;
  Predicted result;
  result.step_time_s = median_step(swept);
  result.isolated_step_time_s = swept.steps.front().completed;
  if (result.step_time_s > 0) result.throughput_samples_per_s = plan::trained_samples(plan) / result.step_time_s;
  result.interval_s = {result.step_time_s, result.step_time_s};
  result.ranks = of_all_ranks(outline, swept, sizes, memory);
  const Rank busiest = busiest_rank(result.ranks);
  plan::Plan window = plan;
  window.ranks[busiest.value] = plan::written_program(outline, busiest);
  result.step_parts = step_parts(window, time, busiest);
  result.terms = terms_of(plan, sizes, time, memory, result.ranks, result.step_time_s, window);
  result.second_opinion_step_time_s = second_opinions(plan, sizes, time);
  result.broken_assumptions = broken_assumptions(plan, time, result.second_opinion_step_time_s);
  // Counted over all passes, of which the outline lists the first ones.
  if (const auto opinion = result.second_opinion_step_time_s.find("busiest_rank");
      opinion != result.second_opinion_step_time_s.end())
    opinion->second = most_computed(result.ranks);
  return result;
}

}  // namespace parabench::analytic
