#include "analytic/simulate/swept_ops.h"

#include <algorithm>

#include "parallelism/plan/strategies/pipeline.h"

namespace parabench::analytic {

void swept_ops(const plan::PipelineOutline& outline, const SweptPipeline& swept, Rank rank, std::vector<SweptOp>& ops) {
  const RankSeconds& seconds = swept.seconds[rank.value];
  const plan::DeviceOrder& order = outline.orders[rank.value];
  const int devices = static_cast<int>(outline.orders.size()), pieces = plan::micro_batches(outline.plan);
  std::vector<int> stages;
  for (int chunk = 0; chunk < std::ssize(outline.plan.ranks[rank.value].holds); ++chunk)
    stages.push_back(plan::stage_of_chunk(outline.stages, devices, rank.value, chunk).value);
  ops.clear();
  ops.reserve((2 * order.size() + seconds.updates.size()) * swept.steps.size());
  double free = swept.period ? swept.steps.front().ended[rank.value] - *swept.period : 0;
  const auto add = [&](SweptOp op, double since, double takes) {
    op.span = {.queued = free, .start = std::max(free, since), .end = std::max(free, since) + takes};
    free = op.span.end;
    ops.push_back(op);
  };
  for (int step = 0; step < std::ssize(swept.steps); ++step) {
    for (const plan::StagePass& pass : order) {
      const int m = pass.micro_batch;
      const bool smaller = is_smaller(outline.plan, m), back = plan::makes_input_gradient(pass.kind);
      SweptOp op{.kind = pass.kind, .place = pass.chunk, .micro_batch = m, .step = step};
      if (back && runs_again(outline.plan.spec.recompute, m, pieces)) {
        SweptOp again = op;
        again.kind = plan::OpKind::recompute;
        add(again, 0, seconds.of(again.kind, pass.chunk, smaller, false));
      }
      double came = 0;
      if (back || pass.kind == plan::OpKind::forward) {
        const Arrivals& arrivals = back ? swept.steps[step].gradients : swept.steps[step].activations;
        const std::size_t there = static_cast<std::size_t>(stages[pass.chunk]) * pieces + m;
        // What the rank made itself never came: no number, which is not above any.
        if (arrivals.came[there] > free) {
          came = arrivals.came[there];
          if (step >= swept.discarded) op.made = arrivals.made[there];
        }
      }
      add(op, came, seconds.of(pass.kind, pass.chunk, smaller, m > 0));
    }
    for (int update = 0; update < std::ssize(seconds.updates); ++update)
      add({.kind = plan::OpKind::update, .place = update, .step = step}, 0, seconds.updates[update]);
  }
}

}  // namespace parabench::analytic
