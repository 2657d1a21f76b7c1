#include <algorithm>
#include <numeric>
#include <vector>

#include "analytic/closed_forms.h"
#include "analytic/predict.h"
#include "analytic/sizes.h"

namespace parabench {
namespace {

/// Seconds of one pass of a stage for micro-batch 0, with every rank busy.
double stage_pass(const Plan& plan, const CostModel& cost, Rank rank, Op (*make)(SegmentId, MicroBatchId, int, int)) {
  const SegmentRange held = segments_of(plan, plan.ranks[rank.value].stage);
  double sum = 0;
  for (SegmentId s = held.first; s <= held.last; ++s) {
    sum += cost.seconds(plan, rank, make(s, MicroBatchId(0), 0, 0), plan.spec.np);
  }
  return sum;
}

/// T_seq: one rank alone computes all pieces, one after the other.
double sequential_seconds(const Plan& plan, const CostModel& cost, std::vector<int> pieces) {
  Plan alone{.spec = plan.spec, .segments = plan.segments, .pieces = {pieces}, .ranks = std::vector<RankProgram>(1)};
  double sum = 0;
  for (MicroBatchId m; m.value < static_cast<int>(pieces.size()); ++m) {
    for (SegmentId s; s.value < static_cast<int>(plan.segments.size()); ++s) {
      sum +=
          cost.seconds(alone, Rank(0), forward(s, m, 0, 0), 1) + cost.seconds(alone, Rank(0), backward(s, m, 0, 0), 1);
    }
  }
  return sum;
}

double data_parallel_opinion(const Plan& plan, const Sizes& sizes, const CostModel& cost) {
  const std::vector<Link> ring(plan.replicas, cost.link(plan));
  const auto gradients =
      static_cast<double>(sizes.parameter_bytes(plan, SegmentId(0), static_cast<int>(plan.segments.size())));
  return data_parallel_step(sequential_seconds(plan, cost, {batch_samples(plan)}), plan.replicas, gradients,
                            static_cast<double>(plan.spec.bucket.value), ring);
}

std::vector<Rank> ranks_by_stage(const Plan& plan) {
  std::vector<Rank> ranks;
  for (StageId stage; stage.value < plan.stages; ++stage) ranks.push_back(rank_of(plan, stage, 0));
  return ranks;
}

std::vector<double> boundary_seconds(const Plan& plan, const CostModel& cost, std::span<const Rank> ranks) {
  std::vector<double> seconds;
  for (std::size_t stage = 0; stage + 1 < ranks.size(); ++stage) {
    const SegmentId last = segments_of(plan, plan.ranks[ranks[stage].value].stage).last;
    seconds.push_back(cost.seconds(plan, ranks[stage], send_forward(last, MicroBatchId(0), 0, ranks[stage + 1]), 1));
  }
  return seconds;
}

}  // namespace

std::map<std::string, double> second_opinions(const Plan& plan, const ModelSpec& model, const CostModel& cost) {
  std::map<std::string, double> opinions;
  const Sizes sizes(model);
  if (plan.replicas > 1) {
    if (plan.stages == 1) opinions["ddlbench_eq_5_1"] = data_parallel_opinion(plan, sizes, cost);
    return opinions;
  }
  const std::vector<Rank> ranks = ranks_by_stage(plan);
  std::vector<double> forwards, backwards;
  for (const Rank rank : ranks) {
    forwards.push_back(stage_pass(plan, cost, rank, &forward));
    backwards.push_back(stage_pass(plan, cost, rank, &backward));
  }
  if (plan.stages == 1) {
    const double passes = sequential_seconds(plan, cost, plan.pieces[0]);
    const int segments = static_cast<int>(plan.segments.size());
    opinions["sum_of_operations"] = passes + cost.seconds(plan, ranks[0], update(SegmentId(0), segments, 0, 1), 1);
    return opinions;
  }
  const std::vector<double> boundaries = boundary_seconds(plan, cost, ranks);
  if (plan.asynchronous) {
    double period = 2 * *std::ranges::max_element(boundaries);
    for (std::size_t s = 0; s < ranks.size(); ++s) {
      const SegmentRange held = segments_of(plan, plan.ranks[ranks[s].value].stage);
      const auto weights =
          static_cast<double>(sizes.parameter_bytes(plan, held.first, held.last.value - held.first.value + 1));
      period = std::max(period, pipedream_stage(forwards[s] + backwards[s], weights, 1, cost.link(plan).bytes_per_s));
    }
    opinions["pipedream_planner"] = period;
    return opinions;
  }
  const int pieces = micro_batches(plan);
  opinions["ddlbench_eq_6_1_6_2"] = gpipe_compute(sequential_seconds(plan, cost, plan.pieces[0]), plan.stages, pieces) +
                                    gpipe_communication(boundaries, pieces);
  opinions["unequal_stages"] = gpipe_unequal(forwards, backwards, pieces);
  return opinions;
}

}  // namespace parabench
