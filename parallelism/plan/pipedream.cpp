#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "parallelism/plan/generators.h"
#include "parallelism/plan/lowering.h"
#include "parallelism/plan/stage_widths.h"

namespace parabench {
namespace {

/// Position of a rank among the holders of its stage.
struct Seat {
  StageId stage;
  int replica = 0;
};

std::vector<Seat> seats(const std::vector<int>& widths) {
  std::vector<Seat> result;
  for (int stage = 0; stage < std::ssize(widths); ++stage) {
    for (int replica = 0; replica < widths[stage]; ++replica) result.push_back({StageId(stage), replica});
  }
  return result;
}

}  // namespace

// P = 3, backwards twice as long as forwards; every backward is followed by its update:
//   p0 F0 F1 F2 .  .  .  .  B0 B0 F3 B1 B1 F4 B2 B2 F5 ...
//   p1 .  F0 F1 .  .  B0 B0 F2 B1 B1 F3 B2 B2 F4 B3 B3 ...
//   p2 .  .  F0 B0 B0 F1 B1 B1 F2 B2 B2 F3 B3 B3 F4 B4 ...
// A stage with r replicas gives mini-batch k to replica k mod r; r mini-batches add up to one update. A replica starts
// floor((R - 1 - sum of r before) / r) forwards ahead, R being the ranks, and each mini-batch reads the version of its
// start in both passes (weight stashing; Narayanan et al., SOSP'19).
Plan pipedream_plan(const StrategyInput& input) {
  const std::vector<int> widths = stage_widths(input.spec);
  Plan plan = cut_model(input, static_cast<int>(widths.size()), Grain::stage, 1, 1);
  plan.asynchronous = true;
  plan.steps = input.steps;
  const std::vector<Seat> seat = seats(widths);
  for (int r = 0; r < std::ssize(plan.ranks); ++r) {
    const auto [stage, replica] = seat[r];
    const int width = widths[stage.value];
    const int ranks_before = std::accumulate(widths.begin(), widths.begin() + stage.value, 0);
    const int ahead = (input.spec.np - 1 - ranks_before) / width;
    plan.versions[stage.value] = {.lag = ahead, .steps_per_update = width};

    RankProgram& rank = plan.ranks[r];
    rank.holds = {{stage, 0}};
    const SegmentId segment = segments_of(plan, stage).first;
    std::vector<int> own;
    for (int step = replica; step < input.steps; step += width) own.push_back(step);
    const int warmup = std::min(ahead, static_cast<int>(own.size()));
    rank.weight_versions = std::max(1, std::min(ahead + 1, (input.steps + width - 1) / width));
    const auto run = [&](OpKind kind, int step) {
      pass_stage(plan, rank, kind, stage, MicroBatchId(0), step, version_read(plan, stage, step));
    };
    for (int i = 0; i < warmup; ++i) run(OpKind::forward, own[i]);
    for (int i = 0; i < std::ssize(own); ++i) {
      if (i + warmup < std::ssize(own)) run(OpKind::forward, own[i + warmup]);
      run(OpKind::backward, own[i]);
      const int due = own[i] / width * width + width - 1;
      if (due >= input.steps) continue;
      if (width > 1) rank.lane(LaneKind::collectives, stage.value).push_back(all_reduce(segment, 1, due));
      rank.compute().push_back(update(segment, 1, due, updates_by(plan, stage, due)));
    }
  }
  return add_messages(std::move(plan));
}

// Narayanan et al., ICML'21: 1F1B on an endless stream, one update per mini-batch of M micro-batches, and two weight
// versions on every stage: step t reads the weights of update t - 1.
Plan pipedream_2bw_plan(const StrategyInput& input) {
  const int devices = input.spec.np, micro_batches = input.spec.micro, last = input.steps * micro_batches;
  Plan plan = cut_model(input, devices, Grain::stage, 1, micro_batches);
  plan.asynchronous = true;
  plan.steps = input.steps;
  plan.versions.assign(devices, {.lag = 1});
  for (int p = 0; p < devices; ++p) {
    RankProgram& rank = plan.ranks[p];
    const StageId stage(p);
    rank.holds = {{stage, 0}};
    rank.weight_versions = std::min(2, input.steps);
    const int ahead = std::min(devices - 1 - p, last);
    const auto run = [&](OpKind kind, int k) {
      const int step = k / micro_batches;
      pass_stage(plan, rank, kind, stage, MicroBatchId(k % micro_batches), step, version_read(plan, stage, step));
    };
    for (int k = 0; k < ahead; ++k) run(OpKind::forward, k);
    for (int k = 0; k < last; ++k) {
      if (k + ahead < last) run(OpKind::forward, k + ahead);
      run(OpKind::backward, k);
      const int step = k / micro_batches;
      if (k % micro_batches == micro_batches - 1) {
        rank.compute().push_back(update(segments_of(plan, stage).first, 1, step, step + 1));
      }
    }
  }
  return add_messages(std::move(plan));
}

}  // namespace parabench
