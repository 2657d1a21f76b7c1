#include "parallelism/plan/plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

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

SegmentId last_segment(const Plan& plan) { return SegmentId(static_cast<int>(plan.segments.size()) - 1); }

std::vector<SegmentId> segments_held(const Plan& plan, Rank rank) {
  std::vector<SegmentId> held;
  for (const Holding& holding : plan.ranks[rank.value].holds) {
    const SegmentRange range = segments_of(plan, holding.stage);
    for (SegmentId s = range.first; s <= range.last; ++s) held.push_back(s);
  }
  return held;
}

std::vector<int> partition(const Plan& plan) {
  std::vector<int> layers(plan.stages, 0);
  for (const Segment& s : plan.segments) layers[s.stage.value] += s.layers;
  return layers;
}

StageId stage_of(const Plan& plan, SegmentId segment) { return plan.segments[segment.value].stage; }

int replica_of(const Plan& plan, Rank rank, SegmentId segment) {
  const auto& holds = plan.ranks[rank.value].holds;
  const auto found = std::ranges::find(holds, stage_of(plan, segment), &Holding::stage);
  return found == holds.end() ? -1 : found->replica;
}

std::vector<Rank> holders(const Plan& plan, StageId stage) {
  std::vector<Rank> ranks;
  for (int r = 0; r < std::ssize(plan.ranks); ++r) {
    const auto& holds = plan.ranks[r].holds;
    if (std::ranges::find(holds, stage, &Holding::stage) != holds.end()) ranks.push_back(Rank(r));
  }
  return ranks;
}

std::vector<std::vector<Rank>> holders(const Plan& plan) {
  std::vector<std::vector<Rank>> ranks(plan.stages);
  for (int r = 0; r < std::ssize(plan.ranks); ++r) {
    for (const Holding& holding : plan.ranks[r].holds) ranks[holding.stage.value].push_back(Rank(r));
  }
  return ranks;
}

std::vector<std::vector<Rank>> reduction_groups(const Plan& plan) {
  if (plan.stages == 1) return {};
  std::vector<std::vector<Rank>> groups = holders(plan);
  std::erase_if(groups, [](const std::vector<Rank>& group) { return group.size() < 2; });
  return groups;
}

std::vector<int> groups_by_stage(const Plan& plan) {
  if (plan.stages == 1) return {0};
  std::vector<int> groups;
  int count = 0;
  for (const std::vector<Rank>& group : holders(plan)) groups.push_back(group.size() > 1 ? ++count : -1);
  return groups;
}

int version_read(const VersionRule& rule, int step) { return std::max(0, step / rule.steps_per_update - rule.lag); }

int updates_by(const VersionRule& rule, int step) { return (step + 1) / rule.steps_per_update; }

bool is_update_due(const VersionRule& rule, int step) { return (step + 1) % rule.steps_per_update == 0; }

int version_read(const Plan& plan, StageId stage, int step) { return version_read(plan.versions[stage.value], step); }

int updates_by(const Plan& plan, StageId stage, int step) { return updates_by(plan.versions[stage.value], step); }

bool is_update_due(const Plan& plan, StageId stage, int step) {
  return is_update_due(plan.versions[stage.value], step);
}

int discarded_steps(const Case& spec, int warmup) {
  return spec.graph ? std::max(warmup, graph_capture_step + 1) : warmup;
}

std::vector<Op>& RankProgram::lane(LaneKind kind, int key) {
  const auto place = [](const Lane& l) { return std::pair(l.kind, l.key); };
  auto found = std::ranges::lower_bound(lanes, std::pair(kind, key), {}, place);
  if (found == lanes.end() || place(*found) != std::pair(kind, key)) found = lanes.insert(found, {kind, key, {}});
  return found->ops;
}

int RankProgram::find_lane(LaneKind kind, int key) const {
  const auto found =
      std::ranges::find_if(lanes, [&](const Lane& lane) { return lane.kind == kind && lane.key == key; });
  return found == lanes.end() ? -1 : static_cast<int>(found - lanes.begin());
}

bool uses(const Plan& plan, OpKind kind) {
  return std::ranges::any_of(plan.ranks, [kind](const RankProgram& rank) {
    return std::ranges::any_of(rank.lanes, [kind](const Lane& lane) {
      return std::ranges::find(lane.ops, kind, &Op::kind) != lane.ops.end();
    });
  });
}

bool reduces(const RankProgram& rank) {
  return std::ranges::any_of(rank.lanes, [](const Lane& l) { return l.kind == LaneKind::collectives; });
}

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
      for (Lane& lane : rank.lanes) std::erase_if(lane.ops, [&](const Op& op) { return op.step >= steps; });
    return result;
  }
  result.steps = plan.steps * steps;
  for (RankProgram& rank : result.ranks) {
    for (Lane& lane : rank.lanes) {
      auto& ops = lane.ops;
      const std::size_t once = ops.size();
      ops.reserve(once * steps);
      for (int t = 1; t < steps; ++t) {
        for (std::size_t i = 0; i < once; ++i) {
          Op op = ops[i];
          op.step += t * plan.steps;
          // Messages and reductions carry no weight version.
          if (lane.kind == LaneKind::compute) op.version += t * plan.steps;
          ops.push_back(op);
        }
      }
    }
  }
  return result;
}

}  // namespace parabench
