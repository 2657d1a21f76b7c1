#include "parallelism/plan/passes/passes.h"

#include <map>
#include <utility>

namespace parabench {

std::vector<SegmentRun> whole_stages(const Plan& plan) {
  std::vector<SegmentRun> runs;
  for (int stage = plan.stages - 1; stage >= 0; --stage) {
    const SegmentRange range = segments_of(plan, StageId(stage));
    runs.push_back({range.first, range.last.value - range.first.value + 1});
  }
  return runs;
}

std::vector<SegmentRun> buckets(const Plan& plan, std::span<const Bytes> segment_bytes, Bytes limit) {
  std::vector<SegmentRun> runs;
  for (const SegmentRun& stage : whole_stages(plan)) {
    Bytes size;
    SegmentRun open{SegmentId(stage.first.value + stage.segments), 0};
    const std::size_t first_of_stage = runs.size();
    while (open.first > stage.first) {
      open = {SegmentId(open.first.value - 1), open.segments + 1};
      size += segment_bytes[open.first.value];
      if (size >= limit) {
        runs.push_back(open);
        open.segments = 0;
        size = Bytes(0);
      }
    }
    if (open.segments == 0) continue;
    if (size > Bytes(0) || runs.size() == first_of_stage) {
      runs.push_back(open);
    } else {
      runs.back() = {open.first, runs.back().segments + open.segments};
    }
  }
  return runs;
}

Plan add_reductions(Plan plan, std::span<const SegmentRun> runs) {
  for (const SegmentRun& run : runs) {
    const StageId stage = stage_of(plan, run.first);
    const std::vector<Rank> group = holders(plan, stage);
    if (group.size() < 2) continue;
    for (Rank r : group) {
      plan.ranks[r.value].lane(LaneKind::collectives, stage.value).push_back(all_reduce(run.first, run.segments, 0));
    }
  }
  return plan;
}

Plan add_updates(Plan plan, std::span<const SegmentRun> runs) {
  for (const SegmentRun& run : runs) {
    for (Rank r : holders(plan, stage_of(plan, run.first))) {
      plan.ranks[r.value].compute().push_back(update(run.first, run.segments, 0, 1));
    }
  }
  return plan;
}

Plan mark_accumulation(Plan plan) {
  for (RankProgram& rank : plan.ranks) {
    std::vector<char> open(plan.segments.size(), 0);
    for (Op& op : rank.compute()) {
      if (makes_weight_gradient(op.kind)) op.accumulates = std::exchange(open[op.segment.value], 1);
      if (op.kind != OpKind::update) continue;
      for (int i = 0; i < op.segments; ++i) open[op.segment.value + i] = 0;
    }
  }
  return plan;
}

namespace {

/// `again(op, is_last)`: whether a piece of a segment runs again; is_last: the last of its segment and step.
template <class Again>
Plan recompute_where(Plan plan, Again again) {
  for (RankProgram& rank : plan.ranks) {
    std::vector<Op>& ops = rank.compute();
    // Whichever schedule put it last.
    std::map<std::pair<SegmentId, int>, MicroBatchId> last;
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
  return plan;
}

}  // namespace

Plan add_recompute(Plan plan, Recompute which) {
  switch (which) {
    case Recompute::none:
    case Recompute::automatic: return plan;
    case Recompute::all: return recompute_where(std::move(plan), [](const Op&, bool) { return true; });
    case Recompute::except_last:
      return recompute_where(std::move(plan), [](const Op&, bool is_last) { return !is_last; });
  }
  return plan;
}

Plan add_recompute(Plan plan, const std::vector<bool>& segments) {
  return recompute_where(std::move(plan), [&](const Op& op, bool) { return bool{segments[op.segment.value]}; });
}

}  // namespace parabench
