#include "analytic/closed_forms/copy_opinions.h"

#include <algorithm>
#include <set>
#include <vector>

#include "analytic/closed_forms/closed_forms.h"
#include "analytic/closed_forms/sequential_seconds.h"
#include "base/sum_order.h"
#include "parallelism/plan/passes/statistics.h"
#include "parallelism/plan/strategies/horovod.h"
#include "parallelism/plan/strategies/parameter_server.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::analytic {
namespace {

double data_parallel_opinion(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time) {
  const std::vector<Link> ring(plan.replicas, time.link(plan));
  const auto gradients =
      static_cast<double>(sizes.parameter_bytes(plan, SegmentId(0), static_cast<int>(plan.segments.size())));
  // Sequential training with the whole batch in one piece.
  plan::Plan alone{.spec = plan.spec, .segments = plan.segments, .pieces = {{plan::batch_samples(plan)}}};
  alone.spec.strategy = {"sequential", {}};
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

/// What a rank computes, and what its lanes of collectives move, of which the last run's has nothing to hide behind.
struct Overlap {
  double own = 0, backward = 0, sums = 0, last = 0;
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

}  // namespace

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

double overlapped_opinion(const plan::Plan& plan, const TimeModel& time) {
  const Overlap of = overlap(plan, time);
  return overlapped_step(of.own, of.backward, of.sums, of.last);
}

bool backward_hides(const plan::Plan& plan, const TimeModel& time) {
  if (plan::has_collectives(plan.ranks[0], plan::Payload::parameters)) return false;
  const Overlap of = overlap(plan, time);
  return of.sums - of.last <= of.backward;
}

void add_copy_opinions(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time,
                       std::map<std::string, double>& opinions) {
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
  opinions["ddlbench_eq_5_1"] = data_parallel_opinion(plan, sizes, time);
}

}  // namespace parabench::analytic
