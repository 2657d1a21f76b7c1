#include "parallelism/plan/state/buffers.h"

#include <algorithm>

namespace parabench::plan {

Buffers buffers_of(const Plan& plan, Rank rank, int room) {
  Buffers buffers;
  for (const Op& op : plan.ranks[rank.value].compute())
    if (op.kind == OpKind::update && op.step == StepId(0) && op.group.value >= 0)
      buffers.runs.push_back({op.segment, op.segments});
  std::ranges::sort(buffers.runs, std::ranges::greater(), &SegmentRun::first);
  buffers.run_of.assign(plan.segments.size(), -1);
  const int runs = static_cast<int>(buffers.runs.size()), turns = room > 0 ? std::min(room, runs) : runs;
  buffers.count = turns;
  for (int i = 0; i < runs; ++i) {
    const SegmentRun& run = buffers.runs[i];
    bool is_tied = false;
    for (int s = run.first.value; s < run.first.value + run.segments; ++s) {
      buffers.run_of[s] = i;
      is_tied |= plan.tie && plan.tie->original.value == s;
    }
    buffers.buffer_of.push_back(is_tied ? buffers.count++ : i % turns);
  }
  return buffers;
}

}  // namespace parabench::plan
