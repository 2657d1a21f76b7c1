#include "analytic/closed_forms/second_opinion.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "analytic/closed_forms/closed_forms.h"
#include "base/sum_order.h"
#include "parallelism/plan/partition/replicated_stage.h"
#include "parallelism/plan/passes/statistics.h"
#include "parallelism/plan/schedules/one_forward_one_backward.h"
#include "parallelism/plan/strategies/horovod.h"
#include "parallelism/plan/strategies/parameter_server.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::analytic {
namespace {

/// Seconds of one pass of a stage for micro-batch 0, with every rank busy.
double stage_pass(const plan::Plan& plan, const TimeModel& time, Rank rank, StageId stage, plan::OpKind kind) {
  const auto [first, last] = plan::segments_of(plan, stage);
  double sum = 0;
  for (SegmentId s = first; s <= last; ++s) {
    sum += time.seconds(plan, rank, plan::pass(kind, s, MicroBatchId(0), StepId(0), VersionId(0)), plan.spec.np);
  }
  return sum;
}

/// Whether whole backwards follow forwards of one stage per device, as gpipe and 1f1b have it.
bool is_alternating(const plan::Plan& plan) {
  return std::ranges::all_of(plan.ranks, [](const plan::RankProgram& rank) {
    return rank.holds.size() == 1 && std::ranges::none_of(rank.compute(), [](const plan::Op& op) {
             return op.kind == plan::OpKind::backward_weight;
           });
  });
}

/// Whether a rank begins a forward after a backward of the same step, as 1f1b has it and gpipe has not: by the
/// schedule, since an outline lists the first passes alone; of one from a file by the plan.
bool runs_ahead(const plan::Plan& plan) {
  if (const auto order = plan::find_strategy(plan.spec.strategy.name).schedule.order)
    return order == plan::one_forward_one_backward;
  return std::ranges::any_of(plan.ranks, [](const plan::RankProgram& rank) {
    bool turned = false;
    for (const plan::Op& op : rank.compute()) {
      if (turned && op.kind == plan::OpKind::forward) return true;
      turned = turned || op.kind == plan::OpKind::backward;
    }
    return false;
  });
}

/// T_seq: the pieces of replica 0 one after the other, each segment on the first rank that has it, which alone is busy.
double sequential_seconds(const plan::Plan& plan, const TimeModel& time) {
  const auto holders = plan::holders(plan);
  const std::vector<int>& pieces = plan.pieces.front();
  double sum = 0;
  for (SegmentId s; s.value < std::ssize(plan.segments); ++s) {
    const Rank rank = holders[plan::stage_of(plan, s).value].front();
    // Pieces of as many samples lie side by side and take as long.
    for (auto first = pieces.begin(), end = first; first != pieces.end(); first = end) {
      end = std::find_if(first, pieces.end(), [&](int samples) { return samples != *first; });
      const MicroBatchId m(static_cast<int>(first - pieces.begin()));
      sum += static_cast<double>(end - first) *
             (time.seconds(plan, rank, plan::forward(s, m, StepId(0), VersionId(0)), 1) +
              time.seconds(plan, rank, plan::backward(s, m, StepId(0), VersionId(0)), 1));
    }
  }
  return sum;
}

double data_parallel_opinion(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time) {
  const std::vector<Link> ring(plan.replicas, time.link(plan));
  const auto gradients =
      static_cast<double>(sizes.parameter_bytes(plan, SegmentId(0), static_cast<int>(plan.segments.size())));
  // One rank with the whole batch in one piece.
  plan::Plan alone{.spec = plan.spec, .segments = plan.segments, .pieces = {{plan::batch_samples(plan)}}};
  alone.ranks.push_back({.holds = {{StageId(0), ReplicaId(0)}}});
  const bool fuses = plan::find_strategy(plan.spec.strategy.name).find_parameter("fusion") != nullptr;
  const Bytes most = fuses               ? plan::fusion(plan.spec).buffer
                     : plan.updates_late ? sum_order(plan.spec).partition
                                         : plan.spec.bucket;
  return data_parallel_step(sequential_seconds(alone, time), plan.replicas, gradients, static_cast<double>(most.value),
                            ring);
}

/// Whether the first gather brings what the next forward reads first, and not all there is.
bool gathers_forward(const plan::Plan& plan) {
  for (const plan::Lane& lane : plan.ranks[0].lanes) {
    if (!plan::is_collectives_of(lane.key, plan::Payload::parameters)) continue;
    return lane.ops.size() > 1 && lane.ops[0].segment == SegmentId(0);
  }
  return false;
}

/// Seconds of all operations of rank 0, whose share of the batch is the largest.
struct KindSeconds {
  std::map<plan::OpKind, double> of;  ///< forwards that run again count as backwards, before which they run
  double gathered_again = 0;          ///< of all_gathers of runs that the step has gathered before
  double share_sums = 0;              ///< of all_reduces of shares of gradients
  double statistics = 0;              ///< of sums of statistics of batch norms, and of their gradients
};
KindSeconds kind_seconds(const plan::Plan& plan, const TimeModel& time) {
  KindSeconds seconds;
  std::set<SegmentId> gathered;
  for (const plan::Lane& lane : plan.ranks[0].lanes) {
    for (const plan::Op& op : lane.ops) {
      const bool again = op.kind == plan::OpKind::all_gather && !gathered.insert(op.segment).second;
      double& sum = again                                          ? seconds.gathered_again
                    : op.payload == plan::Payload::gradient_shares ? seconds.share_sums
                    : plan::sums_statistics(plan, op)              ? seconds.statistics
                    : op.kind == plan::OpKind::recompute           ? seconds.of[plan::OpKind::backward]
                                                                   : seconds.of[op.kind];
      sum += time.seconds(plan, Rank(0), op, plan::computing_ranks(plan));
    }
  }
  return seconds;
}

double decoupled_opinion(const plan::Plan& plan, const TimeModel& time) {
  auto of = kind_seconds(plan, time).of;
  return decoupled_step(of[plan::OpKind::forward], of[plan::OpKind::backward], of[plan::OpKind::update],
                        of[plan::OpKind::reduce_scatter], of[plan::OpKind::all_gather]);
}

/// Passes of rank 0 in its first step, that of the plan.
double own_seconds(const plan::Plan& plan, const TimeModel& time) {
  double sum = 0;
  for (const plan::Op& op : plan.ranks[0].compute())
    if (op.step == StepId(0)) sum += time.seconds(plan, Rank(0), op, plan::computing_ranks(plan));
  return sum;
}

double server_opinion(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time) {
  const double own = own_seconds(plan, time), rate = time.link(plan).bytes_per_s;
  const int workers = plan::computing_ranks(plan);
  double serving = 0, largest = 0, all = 0;
  for (const Rank server : plan.servers) {
    double busy = 0, range = 0;
    for (const plan::Op& op : plan.ranks[server.value].compute()) {
      busy += time.seconds(plan, server, op, plan::computing_ranks(plan)) / plan.steps;
      if (op.kind == plan::OpKind::update && op.step == StepId(0))
        range += static_cast<double>(sizes.updated_bytes(plan, server, op));
    }
    serving = std::max(serving, busy);
    largest = std::max(largest, range);
    all += range;
  }
  const plan::Serving by = plan::serving(plan.spec);
  switch (by.mode) {
    case plan::ServerMode::sync:
    case plan::ServerMode::backup: return parameter_server_step(own + serving, workers, all, largest, rate);
    case plan::ServerMode::async: return asynchronous_server_step(own, serving, workers, all, largest, rate);
    case plan::ServerMode::stale: return stale_server_step(own, serving, workers, all, largest, rate, by.ahead);
  }
  return 0;
}

double local_opinion(const plan::Plan& plan, const TimeModel& time) {
  auto of = kind_seconds(plan, time).of;
  const double own = of[plan::OpKind::forward] + of[plan::OpKind::backward] + of[plan::OpKind::update];
  return local_step(own / plan.steps, of[plan::OpKind::all_reduce] + of[plan::OpKind::average], plan.steps);
}

/// What a rank computes, and what its lanes of collectives move, of which the last run's has nothing to hide behind.
struct Overlap {
  double own = 0, backward = 0, sums = 0, last = 0;

  /// Whether the backward can hide all but the last.
  bool hides() const { return sums - last <= backward; }
};
Overlap overlap(const plan::Plan& plan, const TimeModel& time) {
  auto [own, backward, sums, last] = Overlap{};
  for (const plan::Lane& lane : plan.ranks[0].lanes) {
    for (const plan::Op& op : lane.ops) {
      if (plan::sums_statistics(plan, op)) continue;
      const double seconds = time.seconds(plan, Rank(0), op, plan::computing_ranks(plan)) / plan.steps;
      (lane.key.kind == plan::LaneKind::collectives ? sums : own) += seconds;
      if (plan::makes_weight_gradient(op.kind) || op.kind == plan::OpKind::recompute) backward += seconds;
      if (plan::is_collective(op.kind) && op.segment == SegmentId(0)) last += seconds;
    }
  }
  return {own, backward, sums, last};
}

double overlapped_opinion(const plan::Plan& plan, const TimeModel& time) {
  const Overlap of = overlap(plan, time);
  return overlapped_step(of.own, of.backward, of.sums, of.last);
}

/// A run's first gather of the step is for its forwards.
double fully_sharded_opinion(const plan::Plan& plan, const TimeModel& time) {
  auto [of, gathered_again, share_sums, statistics] = kind_seconds(plan, time);
  return fully_sharded_step(of[plan::OpKind::forward], of[plan::OpKind::backward], of[plan::OpKind::update],
                            of[plan::OpKind::all_gather], gathered_again,
                            of[plan::OpKind::reduce_scatter] + share_sums);
}

double hybrid_opinion(const plan::Plan& plan, const TimeModel& time) {
  auto [of, gathered_again, share_sums, statistics] = kind_seconds(plan, time);
  return hybrid_sharded_step(of[plan::OpKind::forward], of[plan::OpKind::backward], of[plan::OpKind::update],
                             of[plan::OpKind::reduce_scatter], share_sums, of[plan::OpKind::all_gather]);
}

double prioritised_opinion(const plan::Plan& plan, const TimeModel& time) {
  auto of = kind_seconds(plan, time).of;
  return prioritised_step(of[plan::OpKind::forward], of[plan::OpKind::backward], of[plan::OpKind::update],
                          of[plan::OpKind::all_reduce]);
}

/// Seconds of each stage's passes on the first rank that holds it.
struct StagePasses {
  std::vector<double> forward, backward, input, weight;
};

StagePasses stage_passes(const plan::Plan& plan, const TimeModel& time) {
  const auto holders = plan::holders(plan);
  StagePasses passes;
  for (StageId stage; stage.value < plan.stages; ++stage) {
    const auto seconds = [&](plan::OpKind kind) {
      return stage_pass(plan, time, holders[stage.value].front(), stage, kind);
    };
    passes.forward.push_back(seconds(plan::OpKind::forward));
    passes.backward.push_back(seconds(plan::OpKind::backward));
    passes.input.push_back(seconds(plan::OpKind::backward_input));
    passes.weight.push_back(seconds(plan::OpKind::backward_weight));
  }
  return passes;
}

std::vector<double> boundary_seconds(const plan::Plan& plan, const TimeModel& time) {
  const auto holders = plan::holders(plan);
  std::vector<double> seconds;
  for (StageId stage; stage.value + 1 < plan.stages; ++stage) {
    const Rank from = holders[stage.value].front(), to = holders[stage.value + 1].front();
    const plan::Op message = plan::send_forward(plan::segments_of(plan, stage).last, MicroBatchId(0), StepId(0), to);
    seconds.push_back(time.seconds(plan, from, message, 1));
  }
  return seconds;
}

/// Forwards of a stage that run again for one micro-batch.
double recomputed_pass(const plan::Plan& plan, const TimeModel& time, Rank rank, StageId stage) {
  const plan::Op* first = nullptr;
  double seconds = 0;
  for (const plan::Op& op : plan.ranks[rank.value].compute()) {
    if (op.kind != plan::OpKind::recompute || plan::stage_of(plan, op.segment) != stage) continue;
    if (!first) first = &op;
    if (op.step == first->step && op.micro_batch == first->micro_batch)
      seconds += time.seconds(plan, rank, op, plan.spec.np);
  }
  return seconds;
}

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

/// Of the updates that a rank makes in a step.
double update_seconds(const plan::Plan& plan, const TimeModel& time, Rank rank) {
  double seconds = 0;
  for (const plan::Op& op : plan.ranks[rank.value].compute())
    if (op.kind == plan::OpKind::update) seconds += time.seconds(plan, rank, op, plan.spec.np) / plan.steps;
  return seconds;
}

/// The slowest stage, or the slowest boundary, over which all micro-batches of a step pass in both directions. Sums of
/// replicas are priced as the case's `sync` says.
double planner_period(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time) {
  const StagePasses passes = stage_passes(plan, time);
  const plan::ReplicaLink link{time.link(plan).bytes_per_s, plan::sync_model(plan.spec)};
  const int pieces = plan::micro_batches(plan);
  double period = 0;
  for (const double seconds : boundary_seconds(plan, time)) period = std::max(period, 2 * pieces * seconds);
  for (StageId stage; stage.value < plan.stages; ++stage) {
    const auto [first, last] = plan::segments_of(plan, stage);
    const double passed = passes.forward[stage.value] + passes.backward[stage.value];
    const plan::StageLoad load{
        .seconds = pieces * (passed + recomputed_pass(plan, time, plan::holders(plan, stage).front(), stage)),
        .weight_bytes = sizes.parameter_bytes(plan, first, last.value - first.value + 1),
        .input_bytes = 0};
    const int width = plan.versions[stage.value].steps_per_update;
    period = std::max(
        period, plan::stage_period(load, width, link) + update_seconds(plan, time, plan::holders(plan, stage).front()));
  }
  return period;
}

/// What the literature says of schedules beyond gpipe and 1f1b: equal devices, messages free, one step alone.
std::optional<double> schedule_makespan(const plan::Plan& plan, const TimeModel& time) {
  const StagePasses passes = stage_passes(plan, time);
  const plan::Strategy& strategy = plan::find_strategy(plan.spec.strategy.name);
  if (!strategy.makespan.of) return std::nullopt;
  const auto share = static_cast<double>(plan.ranks.size()) / plan.spec.dp;
  const plan::PassTimes mean{sum(passes.forward) / share, sum(passes.backward) / share, sum(passes.input) / share,
                             sum(passes.weight) / share};
  return strategy.makespan.of(strategy.pipe(plan.spec), mean);
}

/// The most that any rank spends on such operations, per step.
template <class Counts>
double most_seconds(const plan::Plan& plan, const TimeModel& time, Counts counts) {
  double most = 0;
  for (Rank rank(0); rank.value < std::ssize(plan.ranks); ++rank) {
    double seconds = 0;
    for (const plan::Lane& lane : plan.ranks[rank.value].lanes)
      for (const plan::Op& op : lane.ops)
        if (counts(op)) seconds += time.seconds(plan, rank, op, plan::computing_ranks(plan)) / plan.steps;
    most = std::max(most, seconds);
  }
  return most;
}

/// The most that a rank computes again in a step: what the first micro-batch of each stage takes, for all that do.
double most_recomputed(const plan::Plan& plan, const TimeModel& time) {
  if (plan.spec.recompute == Recompute::none) return 0;
  const int spared = plan.spec.recompute == Recompute::except_last ? 1 : 0;
  double most = 0;
  for (Rank rank(0); rank.value < std::ssize(plan.ranks); ++rank) {
    double seconds = 0;
    for (const plan::Holding& held : plan.ranks[rank.value].holds)
      seconds += (std::ssize(plan.pieces[held.replica.value]) - spared) * recomputed_pass(plan, time, rank, held.stage);
    most = std::max(most, seconds);
  }
  return most;
}

/// Of a pipeline that drains, or of any order.
void add_pipeline_opinions(const plan::Plan& plan, const TimeModel& time, std::map<std::string, double>& opinions) {
  const int pieces = plan::micro_batches(plan);
  const bool alternates = plan.stages * plan.spec.dp == std::ssize(plan.ranks) && is_alternating(plan);
  const double again = most_recomputed(plan, time);
  const double sums = most_seconds(plan, time, [](const plan::Op& op) { return plan::is_collective(op.kind); });
  if (alternates) {
    const StagePasses passes = stage_passes(plan, time);
    const auto unequal = runs_ahead(plan) ? alternating_unequal : gpipe_unequal;
    opinions["unequal_stages"] = unequal(passes.forward, passes.backward, pieces) + again + sums;
  } else if (const auto makespan = schedule_makespan(plan, time)) {
    opinions["schedule_formula"] = *makespan + again + sums;
  } else {
    opinions["busiest_rank"] = most_seconds(
        plan, time, [](const plan::Op& op) { return plan::lane_kind(op.kind) == plan::LaneKind::compute; });
  }
  const bool as_in_the_thesis =
      plan.spec.dp == 1 && plan.spec.recompute == Recompute::none && pieces >= plan.stages - 2;
  if (alternates && as_in_the_thesis)
    opinions["ddlbench_eq_6_1_6_2"] = gpipe_compute(sequential_seconds(plan, time), plan.stages, pieces) +
                                      gpipe_communication(boundary_seconds(plan, time), pieces);
}

}  // namespace

std::map<std::string, double> second_opinions(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time) {
  std::map<std::string, double> opinions;
  if (plan.ranks.size() == 1) {
    double& sum = opinions["sum_of_operations"];
    for (const plan::Op& op : plan.ranks[0].compute()) sum += time.seconds(plan, Rank(0), op, 1) / plan.steps;
    return opinions;
  }
  if (!plan.servers.empty()) {
    opinions["parameter_server"] = server_opinion(plan, sizes, time);
    return opinions;
  }
  if (plan.asynchronous) {
    opinions["pipedream_planner"] = planner_period(plan, sizes, time);
    return opinions;
  }
  if (plan.averaging.every > 0) {
    opinions["local_steps"] = local_opinion(plan, time);
    return opinions;
  }
  if (plan::uses(plan, plan::OpKind::encode)) {
    opinions["compressed_sums"] = overlapped_opinion(plan, time);
    return opinions;
  }
  if (plan.stages == 1) {
    if (plan.spec.recompute == Recompute::none && overlap(plan, time).hides())
      opinions["ddlbench_eq_5_1"] = data_parallel_opinion(plan, sizes, time);
    if (plan.room.weights > 0) {
      opinions["fully_sharded"] = fully_sharded_opinion(plan, time);
    } else if (plan::has_collectives(plan.ranks[0], plan::Payload::gradient_shares)) {
      opinions["hybrid_sharded"] = hybrid_opinion(plan, time);
    } else if (gathers_forward(plan)) {
      opinions["decoupled_all_reduce"] = decoupled_opinion(plan, time);
    } else if (plan.updates_late) {
      opinions["priority_order"] = prioritised_opinion(plan, time);
    } else {
      opinions["overlapped_sums"] = overlapped_opinion(plan, time);
    }
    // Every pass waits for the one before, and so for each of these sums between them: nothing hides them.
    const double exposed = plan.statistics.empty() ? 0 : kind_seconds(plan, time).statistics;
    for (auto& [name, seconds] : opinions) seconds += exposed;
    return opinions;
  }
  add_pipeline_opinions(plan, time, opinions);
  return opinions;
}

}  // namespace parabench::analytic
