#include "parallelism/plan/gradients.h"

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
  for (RankProgram& rank : plan.ranks) {
    for (const SegmentRun& run : runs) {
      if (plan.segments[run.first.value].stage != rank.stage) continue;
      rank.lane(Lane::collectives).push_back(all_reduce(run.first, run.segments, 0));
    }
  }
  return plan;
}

Plan add_updates(Plan plan, std::span<const SegmentRun> runs) {
  for (RankProgram& rank : plan.ranks) {
    for (const SegmentRun& run : runs) {
      if (plan.segments[run.first.value].stage != rank.stage) continue;
      rank.lane(Lane::compute).push_back(update(run.first, run.segments, 0, 1));
    }
  }
  return plan;
}

}  // namespace parabench
