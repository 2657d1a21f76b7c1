#include "analytic/closed_forms/pipeline_opinions.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <vector>

#include "analytic/closed_forms/closed_forms.h"
#include "analytic/closed_forms/sequential_seconds.h"
#include "analytic/costs/sum_times.h"
#include "parallelism/plan/partition/replicated_stage.h"
#include "parallelism/plan/schedules/one_forward_one_backward.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::analytic {
namespace {

/// Seconds of one pass of a stage for micro-batch 0, with every rank busy. `adds`: to gradients that are there.
double stage_pass(const plan::Plan& plan, const TimeModel& time, Rank rank, StageId stage, plan::OpKind kind,
                  bool adds = false) {
  const auto [first, last] = plan::segments_of(plan, stage);
  double sum = 0;
  for (SegmentId s = first; s <= last; ++s) {
    plan::Op op = plan::pass(kind, s, MicroBatchId(0), StepId(0), VersionId(0));
    op.accumulates = adds;
    sum += time.seconds(plan, rank, op, plan.spec.np);
  }
  return sum;
}

/// How much longer a step's backwards of a stage take, because those of so many micro-batches but the first add to
/// gradients.
double added_seconds(const plan::Plan& plan, const TimeModel& time, Rank rank, StageId stage, std::int64_t pieces) {
  if (pieces == 1 || plan.scatters_pieces) return 0;
  const auto backward = [&](bool adds) { return stage_pass(plan, time, rank, stage, plan::OpKind::backward, adds); };
  return static_cast<double>(pieces - 1) * (backward(true) - backward(false));
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

/// The most that any rank spends on such operations, per step, each as long as it takes while so many ranks are busy.
template <class Counts>
double most_seconds(const plan::Plan& plan, const TimeModel& time, int busy, Counts counts) {
  double most = 0;
  for (Rank rank(0); rank.value < std::ssize(plan.ranks); ++rank) {
    double seconds = 0;
    for (const plan::Lane& lane : plan.ranks[rank.value].lanes)
      for (const plan::Op& op : lane.ops)
        if (counts(op)) seconds += time.seconds(plan, rank, op, busy) / plan.steps;
    most = std::max(most, seconds);
  }
  return most;
}

/// Of a stage for so many micro-batches in a step, each as the first one.
double recomputed_seconds(const plan::Plan& plan, const TimeModel& time, Rank rank, StageId stage,
                          std::int64_t pieces) {
  if (plan.spec.recompute == Recompute::none) return 0;
  // What recompute:auto chose runs again for all of them.
  const bool spares = plan.spec.recompute == Recompute::except_last;
  return static_cast<double>(pieces - (spares ? 1 : 0)) * recomputed_pass(plan, time, rank, stage);
}

/// The most that forwards that run again, and backwards that add to gradients, take a rank in a step beside its passes.
double most_beside_passes(const plan::Plan& plan, const TimeModel& time) {
  double most = 0;
  for (Rank rank(0); rank.value < std::ssize(plan.ranks); ++rank) {
    if (plan.ranks[rank.value].compute().empty()) continue;  // of a copy for which another one stands
    double seconds = 0;
    for (const plan::Holding& held : plan.ranks[rank.value].holds) {
      const std::int64_t pieces = std::ssize(plan.pieces[held.replica.value]);
      seconds += recomputed_seconds(plan, time, rank, held.stage, pieces) +
                 added_seconds(plan, time, rank, held.stage, pieces);
    }
    most = std::max(most, seconds);
  }
  return most;
}

/// What stays of updates where each stage begins its own when its last backward has ended, and the backwards of the
/// stages before it still run.
double updates_behind(const plan::Plan& plan, const TimeModel& time, const std::vector<double>& backwards) {
  const auto holders = plan::holders(plan);
  double most = 0, drained = 0;
  for (StageId stage; stage.value < plan.stages; ++stage) {
    for (const Rank rank : holders[stage.value]) {
      double seconds = 0;
      for (const plan::Op& op : plan.ranks[rank.value].compute())
        if (!plan::is_pass(op.kind)) seconds += time.seconds(plan, rank, op, plan.spec.np) / plan.steps;
      most = std::max(most, seconds - drained);
    }
    drained += backwards[stage.value];
  }
  return most;
}

/// A mini-batch through a stage on one of its ranks, and the update; what comes in is priced by boundary_seconds().
plan::StageLoad load_of(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time, Rank rank, StageId stage) {
  const auto [first, last] = plan::segments_of(plan, stage);
  const int segments = last.value - first.value + 1;
  const int pieces = plan::micro_batches(plan);
  const double passes = stage_pass(plan, time, rank, stage, plan::OpKind::forward) +
                        stage_pass(plan, time, rank, stage, plan::OpKind::backward);
  const plan::Op update = plan::update(first, segments, StepId(0), VersionId(0));
  return {.seconds = pieces * passes + recomputed_seconds(plan, time, rank, stage, pieces) +
                     added_seconds(plan, time, rank, stage, pieces) + time.seconds(plan, rank, update, plan.spec.np),
          .weight_bytes = sizes.parameter_bytes(plan, first, segments)};
}

}  // namespace

void add_pipeline_opinions(const plan::Plan& plan, const TimeModel& time, std::map<std::string, double>& opinions) {
  const int pieces = plan::micro_batches(plan);
  const bool alternates = plan.stages * plan.spec.dp == std::ssize(plan.ranks) && is_alternating(plan);
  const double beside = most_beside_passes(plan, time);
  const double sums = most_seconds(plan, time, 1, [](const plan::Op& op) { return plan::is_collective(op.kind); });
  if (alternates) {
    const StagePasses passes = stage_passes(plan, time);
    const auto unequal = runs_ahead(plan) ? alternating_unequal : gpipe_unequal;
    opinions["unequal_stages"] =
        unequal(passes.forward, passes.backward, pieces) + beside + sums + updates_behind(plan, time, passes.backward);
  } else if (const auto makespan = schedule_makespan(plan, time)) {
    opinions["schedule_formula"] =
        *makespan + beside + sums + most_seconds(plan, time, plan.spec.np, [](const plan::Op& op) {
          return plan::lane_kind(op.kind) == plan::LaneKind::compute && !plan::is_pass(op.kind);
        });
  } else {
    opinions["busiest_rank"] = most_seconds(
        plan, time, 1, [](const plan::Op& op) { return plan::lane_kind(op.kind) == plan::LaneKind::compute; });
  }
  // Equation 6.2 has a term for each of m - (W - 2) micro-batches, and neither says anything of copies.
  if (alternates && plan.spec.dp == 1 && pieces >= plan.stages - 2)
    opinions["ddlbench_eq_6_1_6_2"] = gpipe_compute(sequential_seconds(plan, time), plan.stages, pieces) +
                                      gpipe_communication(boundary_seconds(plan, time), pieces);
}

PlannerPeriod planner_period(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time) {
  const auto holders = plan::holders(plan);
  const std::vector<double> boundaries = boundary_seconds(plan, time);
  PlannerPeriod slowest;
  for (StageId stage; stage.value < plan.stages; ++stage) {
    const std::vector<Rank>& replicas = holders[stage.value];
    const plan::StageLoad load = load_of(plan, sizes, time, replicas.front(), stage);
    const plan::ReplicaLink link = replica_link(time, sizes, plan, replicas);
    const double period = plan::stage_period(load, static_cast<int>(replicas.size()), link);
    if (period >= slowest.seconds) slowest = {period, link};
    if (stage == StageId(0)) continue;
    const double into = 2 * plan::micro_batches(plan) * boundaries[stage.value - 1];
    const bool spreads = link.sync == plan::SyncModel::code;
    slowest.seconds = std::max(slowest.seconds, spreads ? into / static_cast<double>(replicas.size()) : into);
  }
  return slowest;
}

PlannerPeriod data_parallel_period(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time) {
  const auto holders = plan::holders(plan);
  plan::StageLoad whole;
  std::vector<Rank> all;
  for (StageId stage; stage.value < plan.stages; ++stage) {
    const std::vector<Rank>& replicas = holders[stage.value];
    const plan::StageLoad load = load_of(plan, sizes, time, replicas.front(), stage);
    whole.seconds += load.seconds;
    whole.weight_bytes += load.weight_bytes;
    all.insert(all.end(), replicas.begin(), replicas.end());
  }
  const plan::ReplicaLink link = replica_link(time, sizes, plan, all);
  return {plan::stage_period(whole, static_cast<int>(all.size()), link), link};
}

}  // namespace parabench::analytic
