#include "parallelism/plan/passes/passes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/optimizer.h"
#include "parallelism/plan/passes/rank_passes.h"
#include "parallelism/plan/state/buffers.h"

namespace parabench::plan {

std::vector<SegmentRun> whole_stages(const Plan& plan) {
  std::vector<SegmentRun> runs;
  for (int stage = plan.stages - 1; stage >= 0; --stage) {
    const SegmentRange range = segments_of(plan, StageId(stage));
    runs.push_back({range.first, range.last.value - range.first.value + 1});
  }
  return runs;
}

std::vector<SegmentRun> gradient_runs(const Plan& plan, std::span<const Bytes> segment_bytes,
                                      const std::function<bool(Bytes, SegmentId)>& ends_before) {
  std::vector<SegmentRun> runs;
  for (const SegmentRun& stage : whole_stages(plan)) {
    Bytes size;
    SegmentRun open{SegmentId(stage.first.value + stage.segments), 0};
    const std::size_t first_of_stage = runs.size();
    while (open.first > stage.first) {
      const SegmentId next(open.first.value - 1);
      if (ends_before(size, next)) {
        runs.push_back(open);
        open.segments = 0;
        size = Bytes(0);
      }
      open = {next, open.segments + 1};
      size += segment_bytes[next.value];
    }
    if (size > Bytes(0) || runs.size() == first_of_stage) {
      runs.push_back(open);
    } else {
      runs.back() = {open.first, runs.back().segments + open.segments};
    }
  }
  return runs;
}

std::vector<SegmentRun> buckets(const Plan& plan, std::span<const Bytes> segment_bytes, Bytes limit) {
  return gradient_runs(plan, segment_bytes, [limit](Bytes size, SegmentId) { return size >= limit; });
}

namespace {

/// [stage][shard] -> the group of its holders, made where they are several; else -1.
std::vector<GroupId> add_data_groups(Plan& plan) {
  const auto all = holders(plan);
  std::vector<GroupId> groups;
  for (StageId stage; stage.value < plan.stages; ++stage) {
    for (int shard = 0; shard < plan.shards; ++shard) {
      std::vector<Rank> ranks;
      std::ranges::copy_if(all[stage.value], std::back_inserter(ranks),
                           [&](Rank r) { return plan.shards == 1 || find_holding(plan, r, stage)->shard == shard; });
      const bool several = ranks.size() > 1;
      groups.push_back(GroupId(several ? static_cast<int>(plan.groups.size()) : -1));
      if (several) plan.groups.push_back({Axis::data, std::move(ranks)});
    }
  }
  return groups;
}

void add_collective(Plan& plan, const Op& op) {
  for (Rank r : plan.groups[op.group.value].ranks) plan.ranks[r.value].lane(lane_of(op)).push_back(op);
}

}  // namespace

Plan add_reductions(Plan plan, std::span<const SegmentRun> runs) {
  const std::vector<GroupId> groups = add_data_groups(plan);
  for (const SegmentRun& run : runs) {
    for (int shard = 0; shard < plan.shards; ++shard) {
      const GroupId group = groups[stage_of(plan, run.first).value * plan.shards + shard];
      if (group.value >= 0) add_collective(plan, all_reduce(run.first, run.segments, StepId(0), group));
    }
  }
  return plan;
}

Plan add_updates(Plan plan, std::span<const SegmentRun> runs) {
  const auto all = holders(plan);
  for (const SegmentRun& run : runs) {
    for (Rank r : all[stage_of(plan, run.first).value]) {
      plan.ranks[r.value].compute().push_back(update(run.first, run.segments, StepId(0), VersionId(1)));
    }
  }
  return plan;
}

Plan add_reduced_updates(Plan plan, std::span<const SegmentRun> runs) {
  return add_updates(add_reductions(std::move(plan), runs), runs);
}

Plan add_ordered_sums(Plan plan, std::span<const RunPart> parts, std::span<const SegmentRun> runs) {
  plan.updates_late = true;
  const std::vector<GroupId> groups = add_data_groups(plan);
  for (const auto& [run, part] : parts) {
    for (int shard = 0; shard < plan.shards; ++shard) {
      const GroupId group = groups[stage_of(plan, run.first).value * plan.shards + shard];
      if (group.value < 0) continue;
      Op sum = all_reduce(run.first, run.segments, StepId(0), group);
      sum.port = static_cast<std::uint16_t>(part);
      add_collective(plan, sum);
    }
  }
  return add_updates(std::move(plan), runs);
}

Plan add_averages(Plan plan, std::span<const SegmentRun> runs) {
  const std::vector<GroupId> groups = add_data_groups(plan);
  const StepId last(plan.steps - 1);
  for (const SegmentRun& run : runs) {
    const StageId stage = stage_of(plan, run.first);
    const VersionId version = updates_by(plan, stage, last);
    for (int shard = 0; shard < plan.shards; ++shard) {
      const GroupId group = groups[stage.value * plan.shards + shard];
      if (group.value < 0) continue;
      add_collective(plan, all_reduce_parameters(run.first, run.segments, last, version, group));
      for (Rank r : plan.groups[group.value].ranks)
        plan.ranks[r.value].compute().push_back(average(run.first, run.segments, last, version, group));
    }
  }
  return plan;
}

namespace {

/// Of the holders of one shard of a stage: those that divide a run among themselves, and those that then have the same
/// share of it.
struct SharingGroups {
  std::vector<GroupId> within, across;
};

SharingGroups add_sharing_groups(Plan& plan, std::span<const Rank> holders, int sharers) {
  SharingGroups groups;
  const int count = static_cast<int>(holders.size()), size = sharers == 0 ? count : sharers;
  if (count == 1) return groups;
  const auto add = [&plan](std::vector<GroupId>& some, std::vector<Rank> ranks) {
    some.emplace_back(static_cast<int>(plan.groups.size()));
    plan.groups.push_back({Axis::data, std::move(ranks)});
  };
  for (int first = 0; first < count; first += size)
    add(groups.within, {holders.begin() + first, holders.begin() + first + size});
  for (int own = 0; own < size && size < count; ++own) {
    std::vector<Rank> ranks;
    for (int i = own; i < count; i += size) ranks.push_back(holders[i]);
    add(groups.across, std::move(ranks));
  }
  return groups;
}

}  // namespace

Plan add_sharded_updates(Plan plan, std::span<const SegmentRun> runs, std::span<const SegmentRun> gathered,
                         int sharers) {
  std::vector<SharingGroups> groups;  // [stage][shard]
  for (StageId stage; stage.value < plan.stages; ++stage) {
    for (int shard = 0; shard < plan.shards; ++shard)
      groups.push_back(add_sharing_groups(plan, holders(plan, stage, shard), sharers));
  }
  const bool norms = find_optimizer(plan.spec.optimizer.name).reads_norms;
  const auto for_each_shard = [&](std::span<const SegmentRun> some, auto visit) {
    for (const SegmentRun& run : some) {
      const int stage = stage_of(plan, run.first).value;
      for (int shard = 0; shard < plan.shards; ++shard) visit(run, shard, groups[stage * plan.shards + shard]);
    }
  };
  for_each_shard(runs, [&](const SegmentRun& run, int shard, const SharingGroups& sharing) {
    if (sharing.within.empty()) {
      const Rank alone = holders(plan, stage_of(plan, run.first), shard).front();
      plan.ranks[alone.value].compute().push_back(update(run.first, run.segments, StepId(0), VersionId(1)));
    }
    for (const GroupId group : sharing.within) {
      for (Rank r : plan.groups[group.value].ranks) {
        std::vector<Op>& ops = plan.ranks[r.value].compute();
        if (norms) ops.push_back(plan::norms(run.first, run.segments, StepId(0), group));
        ops.push_back(sharded_update(run.first, run.segments, StepId(0), VersionId(1), group));
      }
      add_collective(plan, reduce_scatter(run.first, run.segments, StepId(0), group));
      if (norms) add_collective(plan, all_reduce_norms(run.first, run.segments, StepId(0), group));
    }
    for (const GroupId group : sharing.across)
      add_collective(plan, all_reduce_shares(run.first, run.segments, StepId(0), group));
  });
  for_each_shard(gathered, [&](const SegmentRun& run, int, const SharingGroups& sharing) {
    for (const GroupId group : sharing.within)
      add_collective(plan, all_gather(run.first, run.segments, StepId(0), VersionId(1), group));
  });
  return plan;
}

Plan limit_gradients(Plan plan, int room) {
  plan.room.gradients = room;
  for (Rank r; r.value < std::ssize(plan.ranks); ++r) {
    const Buffers buffers = buffers_of(plan, r, room);
    std::vector<Op> passes, waiting;  // updates with their norms, in backward order
    for (const Op& op : plan.ranks[r.value].compute()) (is_pass(op.kind) ? passes : waiting).push_back(op);
    std::vector<Op> result;
    const auto update_until = [&](auto last) {
      result.insert(result.end(), waiting.begin(), last);
      waiting.erase(waiting.begin(), last);
    };
    std::vector<int> open(buffers.count, -1);  // by buffer: the first segment of the run whose gradients it has
    for (const Op& pass : passes) {
      if (makes_weight_gradient(pass.kind)) {
        const int buffer = buffers.of(pass.segment), run = buffers.first(pass.segment).value;
        const auto before = std::find_if(waiting.rbegin(), waiting.rend(),
                                         [&](const Op& op) { return op.segment.value == open[buffer]; });
        if (open[buffer] != run) update_until(before.base());
        open[buffer] = run;
      }
      result.push_back(pass);
    }
    update_until(waiting.end());
    plan.ranks[r.value].compute() = std::move(result);
  }
  return plan;
}

Plan limit_weights(Plan plan, int room) {
  plan.room.weights = room;
  for (Rank r; r.value < std::ssize(plan.ranks); ++r) {
    const Buffers buffers = buffers_of(plan, r, room);
    for (Lane& lane : plan.ranks[r.value].lanes) {
      if (!is_collectives_of(lane.key, Payload::parameters)) continue;
      std::vector<SegmentId> last(buffers.count, SegmentId(-1));  // by buffer: the run that forwards leave there
      lane.ops.clear();
      const auto gather = [&](const SegmentRun& run) {
        lane.ops.push_back(all_gather(run.first, run.segments, StepId(0), VersionId(0), lane.key.group));
      };
      for (std::size_t i = buffers.runs.size(); i-- > 0;) {
        gather(buffers.runs[i]);
        last[buffers.of(buffers.runs[i].first)] = buffers.runs[i].first;
      }
      for (const SegmentRun& run : buffers.runs)
        if (last[buffers.of(run.first)] != run.first) gather(run);
    }
  }
  return plan;
}

Plan mark_accumulation(Plan plan) {
  for (RankProgram& rank : plan.ranks) mark_accumulation(plan, rank);
  return plan;
}

Plan add_recompute(Plan plan, Recompute which) {
  for (RankProgram& rank : plan.ranks) add_recompute(rank, which);
  return plan;
}

Plan add_recompute(Plan plan, const std::vector<bool>& segments) {
  for (RankProgram& rank : plan.ranks)
    recompute_where(rank, [&](const Op& op, bool) { return bool{segments[op.segment.value]}; });
  return plan;
}

}  // namespace parabench::plan
