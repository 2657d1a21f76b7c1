#include "parallelism/plan/plan.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "parallelism/plan/unrolled.h"

namespace parabench::plan {

int micro_batches(const Plan& plan) { return static_cast<int>(plan.pieces.front().size()); }

int batch_samples(const Plan& plan) {
  int samples = 0;
  for (const auto& replica : plan.pieces) samples = std::accumulate(replica.begin(), replica.end(), samples);
  return samples;
}

int trained_samples(const Plan& plan) {
  const int all = batch_samples(plan);
  return plan.taken > 0 ? all / plan.replicas * plan.taken : all;  // of equal pieces
}

int update_samples(const Plan& plan, ReplicaId replica) {
  if (plan.averaging.every == 0) return trained_samples(plan);
  const std::vector<int>& own = plan.pieces[replica.value];
  return std::accumulate(own.begin(), own.end(), 0);
}

int piece_offset(const Plan& plan, ReplicaId replica, MicroBatchId m) {
  int offset = 0;
  for (int r = 0; r < replica.value; ++r) {
    offset = std::accumulate(plan.pieces[r].begin(), plan.pieces[r].end(), offset);
  }
  const auto& pieces = plan.pieces[replica.value];
  return std::accumulate(pieces.begin(), pieces.begin() + m.value, offset);
}

int samples_of(const Plan& plan, ReplicaId replica, MicroBatchId m) { return plan.pieces[replica.value][m.value]; }

SegmentRange segments_of(const Plan& plan, StageId stage) {
  const auto first = std::ranges::lower_bound(plan.segments, stage, {}, &Segment::stage);
  const auto end = std::ranges::upper_bound(plan.segments, stage, {}, &Segment::stage);
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

const Holding* find_holding(const Plan& plan, Rank rank, StageId stage) {
  const auto& holds = plan.ranks[rank.value].holds;
  const auto found = std::ranges::find(holds, stage, &Holding::stage);
  return found == holds.end() ? nullptr : &*found;
}

ReplicaId replica_of(const Plan& plan, Rank rank, SegmentId segment) {
  const Holding* holding = find_holding(plan, rank, stage_of(plan, segment));
  return holding ? holding->replica : ReplicaId(-1);
}

std::vector<Rank> holders(const Plan& plan, StageId stage) {
  std::vector<Rank> ranks;
  for (Rank r; r.value < std::ssize(plan.ranks); ++r) {
    if (find_holding(plan, r, stage)) ranks.push_back(r);
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

std::vector<Rank> holders(const Plan& plan, StageId stage, int shard) {
  std::vector<Rank> ranks = holders(plan, stage);
  std::erase_if(ranks, [&](Rank r) { return find_holding(plan, r, stage)->shard != shard; });
  return ranks;
}

VersionId version_read(const VersionRule& rule, StepId step) {
  return VersionId(std::max(0, step.value / rule.steps_per_update - rule.lag));
}

VersionId updates_by(const VersionRule& rule, StepId step) {
  return VersionId((step.value + 1) / rule.steps_per_update);
}

bool is_update_due(const VersionRule& rule, StepId step) { return (step.value + 1) % rule.steps_per_update == 0; }

VersionId version_read(const Plan& plan, StageId stage, StepId step) {
  return version_read(plan.versions[stage.value], step);
}

VersionId updates_by(const Plan& plan, StageId stage, StepId step) {
  return updates_by(plan.versions[stage.value], step);
}

bool is_update_due(const Plan& plan, StageId stage, StepId step) {
  return is_update_due(plan.versions[stage.value], step);
}

int discarded_steps(const Case& spec, int warmup) {
  return spec.graph ? std::max(warmup, graph_capture_step + 1) : warmup;
}

namespace {

/// As few multiples of `round` as make `steps`.
int whole(int steps, int round) { return (steps + round - 1) / round * round; }

}  // namespace

Window window(const Plan& plan, int warmup, int steps) {
  const int turn = turns(plan);
  const bool is_long = plan.servers.empty() && turn - steps > steps;
  const int round = !plan.asynchronous ? plan.steps : is_long ? 1 : turn;
  const int measured = whole(steps, round);
  return {.discarded = whole(discarded_steps(plan.spec, warmup), round),
          .measured = measured,
          .samples = measured / std::max(1, plan.averaging.every),
          .round = round};
}

std::vector<Op>& RankProgram::lane(const LaneKey& key) {
  auto found = std::ranges::lower_bound(lanes, key, {}, &Lane::key);
  if (found == lanes.end() || found->key != key) found = lanes.insert(found, {key, {}});
  return found->ops;
}

int RankProgram::find_lane(const LaneKey& key) const {
  const auto found = std::ranges::find(lanes, key, &Lane::key);
  return found == lanes.end() ? -1 : static_cast<int>(found - lanes.begin());
}

bool uses(const Plan& plan, OpKind kind) {
  return std::ranges::any_of(plan.ranks, [kind](const RankProgram& rank) {
    return std::ranges::any_of(rank.lanes, [kind](const Lane& lane) {
      return std::ranges::find(lane.ops, kind, &Op::kind) != lane.ops.end();
    });
  });
}

int parts_of(const Plan& plan, SegmentId first) { return plan.parts.empty() ? 1 : plan.parts[first.value]; }

bool has_collectives(const RankProgram& rank, Payload purpose) {
  return std::ranges::any_of(rank.lanes, [purpose](const Lane& lane) { return is_collectives_of(lane.key, purpose); });
}

bool reduces(const RankProgram& rank) {
  return std::ranges::any_of(rank.lanes, [](const Lane& lane) {
    return lane.key.kind != LaneKind::compute &&
           (lane.key.purpose == Payload::gradients || lane.key.purpose == Payload::tied_gradients ||
            lane.key.purpose == Payload::encoded);
  });
}

bool is_server(const Plan& plan, Rank rank) { return std::ranges::find(plan.servers, rank) != plan.servers.end(); }

int computing_ranks(const Plan& plan) { return static_cast<int>(plan.ranks.size() - plan.servers.size()); }

int turns(const Plan& plan) {
  if (!plan.servers.empty()) return std::max(1, computing_ranks(plan) / plan.replicas);
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  std::int64_t steps = 1;
  for (const VersionRule& rule : plan.versions)
    steps = std::min(most, std::lcm(steps, std::int64_t{rule.steps_per_update}));
  return static_cast<int>(steps);
}

bool served_in_shares(const Plan& plan) { return plan.stages == 1 && plan.servers.size() > 1; }

std::span<const Rank> servers_of(const Plan& plan, StageId stage) {
  const std::span<const Rank> all = plan.servers;
  return all.empty() || served_in_shares(plan) ? all : all.subspan(stage.value, 1);
}

bool updates(const Plan& plan, Rank rank, StageId stage) {
  return plan.servers.empty() || std::ranges::count(servers_of(plan, stage), rank) > 0;
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
      for (Lane& lane : rank.lanes) std::erase_if(lane.ops, [&](const Op& op) { return op.step.value >= steps; });
    return result;
  }
  const int times = whole(steps, plan.steps) / plan.steps;
  result.steps = plan.steps * times;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    for (std::size_t l = 0; l < plan.ranks[r].lanes.size(); ++l) {
      const std::vector<Op>& once = plan.ranks[r].lanes[l].ops;
      std::vector<Op>& ops = result.ranks[r].lanes[l].ops;
      ops.clear();
      ops.reserve(once.size() * times);
      for (const Repeated& next : unrolled_lane(plan, once, times)) {
        Op& op = ops.emplace_back(once[next.index]);
        op.step.value += next.time * plan.steps;
        if (has_version(op)) op.version.value += next.time * plan.steps;
      }
    }
  }
  return result;
}

}  // namespace parabench::plan
