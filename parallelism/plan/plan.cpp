#include "parallelism/plan/plan.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace parabench {

int micro_batches(const Plan& plan) { return static_cast<int>(plan.pieces.front().size()); }

int batch_samples(const Plan& plan) {
  int samples = 0;
  for (const auto& replica : plan.pieces) samples = std::accumulate(replica.begin(), replica.end(), samples);
  return samples;
}

int piece_offset(const Plan& plan, int replica, MicroBatchId m) {
  int offset = 0;
  for (int r = 0; r < replica; ++r) {
    offset = std::accumulate(plan.pieces[r].begin(), plan.pieces[r].end(), offset);
  }
  const auto& pieces = plan.pieces[replica];
  return std::accumulate(pieces.begin(), pieces.begin() + m.value, offset);
}

SegmentRange segments_of(const Plan& plan, StageId stage) {
  auto [first, end] = std::ranges::equal_range(plan.segments, stage, {}, &Segment::stage);
  return {SegmentId(static_cast<int>(first - plan.segments.begin())),
          SegmentId(static_cast<int>(end - plan.segments.begin()) - 1)};
}

std::vector<int> partition(const Plan& plan) {
  std::vector<int> layers(plan.stages, 0);
  for (const Segment& s : plan.segments) layers[s.stage.value] += s.layers;
  return layers;
}

Rank rank_of(const Plan& plan, StageId stage, int replica) {
  auto holds = [&](const RankProgram& r) { return r.stage == stage && r.replica == replica; };
  auto found = std::ranges::find_if(plan.ranks, holds);
  if (found == plan.ranks.end()) {
    throw usage_error("plan", "stage " + std::to_string(stage.value) + " of replica " + std::to_string(replica),
                      "a stage and a replica that a rank holds");
  }
  return Rank(static_cast<int>(found - plan.ranks.begin()));
}

bool reduces(const RankProgram& rank) { return !rank.lane(Lane::collectives).empty(); }

std::vector<int> split_evenly(int samples, int pieces) {
  std::vector<int> sizes(pieces, samples / pieces);
  for (int i = 0; i < samples % pieces; ++i) ++sizes[i];
  return sizes;
}

Plan unroll(const Plan& plan, int steps) {
  Plan result = plan;
  if (plan.asynchronous) {
    if (steps > plan.steps) {
      throw usage_error("steps", std::to_string(steps),
                        "at most the " + std::to_string(plan.steps) + " steps of the asynchronous plan's window");
    }
    result.steps = steps;
    for (RankProgram& rank : result.ranks)
      for (auto& ops : rank.lanes) std::erase_if(ops, [&](const Op& op) { return op.step >= steps; });
    return result;
  }
  result.steps = plan.steps * steps;
  for (RankProgram& rank : result.ranks) {
    for (auto& ops : rank.lanes) {
      const std::size_t once = ops.size();
      ops.reserve(once * steps);
      for (int t = 1; t < steps; ++t) {
        for (std::size_t i = 0; i < once; ++i) {
          Op op = ops[i];
          op.step += t * plan.steps;
          // Messages and reductions carry no weight version.
          if (lane_of(op.kind) == Lane::compute) op.version += t * plan.steps;
          ops.push_back(op);
        }
      }
    }
  }
  return result;
}

}  // namespace parabench
