#include "parallelism/plan/passes/rank_passes.h"

#include <map>
#include <utility>
#include <vector>

namespace parabench::plan {

void mark_accumulation(const Plan& plan, RankProgram& rank) {
  // By segment the update that its gradients are for, counted from 0; a worker of a server has no end of it on its
  // lane.
  std::vector<int> open(plan.segments.size(), -1), shares = open;
  for (Op& op : rank.compute()) {
    const int update = op.step.value / plan.versions[stage_of(plan, op.segment).value].steps_per_update;
    const auto adds = [&](std::vector<int>& begun, int segment) {
      return std::exchange(begun[segment], update) == update;
    };
    if (makes_weight_gradient(op.kind)) op.accumulates = adds(open, op.segment.value);
    for (int i = op.segment.value; i < op.segment.value + op.segments; ++i) {
      if (op.kind == OpKind::add) op.accumulates = adds(adds_share(op) ? shares : open, i);
      if (op.kind == OpKind::update || adds_share(op)) open[i] = -1;
      if (op.kind == OpKind::update) shares[i] = -1;
    }
  }
}

void recompute_where(RankProgram& rank, const std::function<bool(const Op&, bool)>& again) {
  std::vector<Op>& ops = rank.compute();
  // Whichever schedule put it last.
  std::map<std::pair<SegmentId, StepId>, MicroBatchId> last;
  for (const Op& op : ops) {
    if (op.kind == OpKind::forward) last[{op.segment, op.step}] = op.micro_batch;
  }
  std::vector<Op> result;
  for (Op op : ops) {
    const bool runs_again = is_pass(op.kind) && again(op, last[{op.segment, op.step}] == op.micro_batch);
    if (op.kind == OpKind::forward) op.discards = runs_again;
    if (makes_input_gradient(op.kind) && runs_again) {
      result.push_back(pass(OpKind::recompute, op.segment, op.micro_batch, op.step, op.version));
    }
    result.push_back(op);
  }
  ops = std::move(result);
}

void add_recompute(RankProgram& rank, Recompute which) {
  switch (which) {
    case Recompute::none:
    case Recompute::automatic: return;
    case Recompute::all: return recompute_where(rank, [](const Op&, bool) { return true; });
    case Recompute::except_last: return recompute_where(rank, [](const Op&, bool is_last) { return !is_last; });
  }
}

}  // namespace parabench::plan
