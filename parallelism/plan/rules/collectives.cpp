#include "parallelism/plan/rules/collectives.h"

#include "parallelism/plan/rules/gradient_sums.h"
#include "parallelism/plan/rules/micro_batch_sums.h"
#include "parallelism/plan/rules/rank_updates.h"
#include "parallelism/plan/rules/servers.h"
#include "parallelism/plan/rules/weight_updates.h"
#include "parallelism/plan/ties.h"

namespace parabench::plan {
namespace {

/// What an operation counts as; nullptr: nothing.
Counted UpdateStep::*counted_as(const Op& op) {
  if (op.kind == OpKind::update) return &UpdateStep::update;
  if (op.kind == OpKind::norms) return &UpdateStep::norms;
  if (op.kind == OpKind::average) return &UpdateStep::average;
  if (op.kind == OpKind::encode) return &UpdateStep::encode;
  if (op.kind == OpKind::project) return &UpdateStep::project;
  if (op.kind == OpKind::decode) return &UpdateStep::decode;
  if (op.kind == OpKind::add) return &UpdateStep::add;
  if (makes_weight_gradient(op.kind)) return &UpdateStep::made;
  if (op.kind == OpKind::send) return op.payload == Payload::gradients ? &UpdateStep::push : nullptr;
  if (op.kind == OpKind::receive) return op.payload == Payload::parameters ? &UpdateStep::pull : nullptr;
  if (op.payload == Payload::norms) return &UpdateStep::norm_sum;
  if (op.payload == Payload::gradients || op.payload == Payload::encoded) return &UpdateStep::sum;
  if (op.payload == Payload::gradient_shares) return &UpdateStep::share_sum;
  if (op.payload == Payload::projected) return &UpdateStep::projected;
  return op.payload == Payload::parameters ? &UpdateStep::exchange : nullptr;
}

/// Counts an operation, and looks at what has to fit those counted before it.
void count(const Op& op, Counted UpdateStep::*member, SeenSums& seen, RankUpdates& of) {
  const Plan& plan = of.plan;
  if (plan.room.weights > 0 && member == &UpdateStep::exchange) check_gather(of, op);
  if (op.port > 0 && member == &UpdateStep::sum) check_part(of, op, seen);
  const bool is_served = member == &UpdateStep::push || member == &UpdateStep::pull || member == &UpdateStep::add;
  if (is_served && served_in_shares(plan)) check_same_share(of, op, member);
  if (plan.scatters_pieces && (member == &UpdateStep::sum || member == &UpdateStep::add))
    check_piece(of, op, member, seen);
  for (int i = 0; i < op.segments; ++i) {
    Counted& counted = of.steps[op.segment.value + i][op.step.value].*member;
    ++counted.count;
    counted.op = &op;
  }
}

/// What happens to the parameters of one rank.
void check_updates(const Plan& plan, Rank rank, Violations& found) {
  RankUpdates of = rank_updates(plan, rank, found);
  SeenSums seen;
  for (const Lane& lane : plan.ranks[rank.value].lanes) {
    for (const Op& op : lane.ops) {
      if (Counted UpdateStep::*member = counted_as(op)) count(op, member, seen, of);
    }
  }
  check_adds(of);
  for (const Holding& holding : plan.ranks[rank.value].holds) {
    const std::vector<Rank> sharers = holders(plan, holding.stage, holding.shard);
    const auto [first, last] = segments_of(plan, holding.stage);
    for (SegmentId s = first; s <= last; ++s) {
      for (StepId step; step.value < plan.steps; ++step) {
        check_gradient_sums(of, s, step, sharers);
        check_update(of, s, step);
        check_average(of, s, step, sharers);
        check_server(of, s, step, sharers);
        check_shares_of_servers(of, s, step);
        check_norms(of, s, step);
      }
    }
  }
}

/// The sums of a tied tensor's gradients that one rank takes part in.
void check_tied_sums(const Plan& plan, Rank rank, Violations& found) {
  const TiedSegments& tie = *plan.tie;
  const StageId first = stage_of(plan, tie.original), last = stage_of(plan, tie.copy);
  const bool takes_part = !tie.shared && (find_holding(plan, rank, first) || find_holding(plan, rank, last));
  const std::vector<Rank> members = takes_part ? tie_members(plan, rank) : std::vector<Rank>();
  std::vector<int> sums(plan.steps, 0);
  for (const Lane& lane : plan.ranks[rank.value].lanes) {
    if (lane.key.purpose != Payload::tied_gradients) continue;
    for (const Op& op : lane.ops) {
      ++sums[op.step.value];
      if (members.size() != 2 || plan.groups[op.group.value].ranks != members)
        complain_of(op, rank, "group", "does not join the two ranks of a replica that have the tensor", found);
    }
  }
  for (StepId step; step.value < plan.steps; ++step) {
    const int due = takes_part && is_update_due(plan, first, step), sum = sums[step.value];
    const Op op = all_reduce_tied(tie.original, step, GroupId(-1));
    if (sum != due) complain_of(op, rank, "exactly once", sum < due ? "is missing" : "is one too many", found);
  }
}

}  // namespace

void check_collectives(const Plan& plan, Violations& found) {
  if (plan.tie) {
    const StageId first = stage_of(plan, plan.tie->original), last = stage_of(plan, plan.tie->copy);
    if (plan.versions[first.value] != plan.versions[last.value])
      found.push_back({{}, "version", "the stages of a tied tensor follow different rules of weight versions"});
  }
  for (Rank r; r.value < std::ssize(plan.ranks); ++r) {
    check_updates(plan, r, found);
    if (plan.tie) check_tied_sums(plan, r, found);
    if (!plan.statistics.empty()) check_statistics(plan, r, found);
    check_micro_batch_sums(plan, r, found);
  }
}

}  // namespace parabench::plan
