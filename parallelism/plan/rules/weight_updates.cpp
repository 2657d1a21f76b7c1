#include "parallelism/plan/rules/weight_updates.h"

#include <utility>

namespace parabench::plan {

void check_gather(const RankUpdates& of, const Op& op) {
  const VersionId read = version_read(of.plan, stage_of(of.plan, op.segment), op.step);
  if (op.kind != OpKind::all_gather || op.version != read)
    of.complain("version", op, "brings no version " + std::to_string(read.value) + ", which its step reads");
}

void check_update(const RankUpdates& of, SegmentId s, StepId step) {
  const UpdateStep& there = of.at(s, step);
  const Counted &sum = there.sum, &update = there.update, &exchange = there.exchange;
  const bool received = exchange.op && exchange.op->kind == OpKind::broadcast && exchange.op->peer != of.rank;
  const int due = is_update_due(of.plan, stage_of(of.plan, s), step) && !received &&
                  updates(of.plan, of.rank, stage_of(of.plan, s));
  if (update.count > due && !received) of.complain("exactly once", *update.op, "is one too many");
  if (update.count < due) of.complain("exactly once", plan::update(s, 1, step, VersionId(0)), "is missing");
  if (received && update.op) of.complain("exactly once", *update.op, "is overwritten by the broadcast");
  const bool before_use = of.plan.room.weights > 0;
  if (exchange.count > (before_use ? 2 : 1)) of.complain("exactly once", *exchange.op, "is one too many");
  if (exchange.op && exchange.op->kind == OpKind::all_reduce) return;  // of check_average()
  if (!update.op) {
    if (exchange.op && !received) of.complain("shard", *exchange.op, "comes without an update");
    return;
  }
  const bool sharded = update.op->group.value >= 0;
  if (sum.op && sum.op->kind == OpKind::reduce_scatter && !same_run(*sum.op, *update.op)) {
    of.complain("shard", *update.op, "is of more than the share that " + to_text(*sum.op) + " left there");
  }
  const bool serves = served_in_shares(of.plan) && updates(of.plan, of.rank, stage_of(of.plan, s));
  if (sharded && !exchange.op && !serves) of.complain("shard", *update.op, "is of a share that nothing gathers");
  if (!exchange.op) return;
  const bool gathers = exchange.op->kind == OpKind::all_gather;
  if (gathers != sharded || (gathers && !same_run(*exchange.op, *update.op))) {
    of.complain("shard", *exchange.op, "moves other shares than " + to_text(*update.op) + " wrote");
  }
  if (!before_use && exchange.op->version != update.op->version) {
    of.complain("version", *exchange.op, "moves another version than " + to_text(*update.op) + " wrote");
  }
}

void check_average(const RankUpdates& of, SegmentId s, StepId step, const std::vector<Rank>& sharers) {
  const UpdateStep& there = of.at(s, step);
  const bool sums = there.exchange.op && there.exchange.op->kind == OpKind::all_reduce;
  const Counted sum = sums ? there.exchange : Counted{};
  const int due = sharers.size() > 1 && of.plan.averaging.is_due(step);
  const VersionId version = updates_by(of.plan, stage_of(of.plan, s), step);
  for (const auto& [counted, missing] : {std::pair(sum, all_reduce_parameters(s, 1, step, version, GroupId(-1))),
                                         std::pair(there.average, average(s, 1, step, version, GroupId(-1)))}) {
    of.check_count(counted, due, missing);
    if (!counted.op) continue;
    if (counted.op->version != version)
      of.complain("version", *counted.op,
                  "is of no version " + std::to_string(version.value) + ", which its step wrote");
    if (const GroupId group = counted.op->group; group.value < 0 || of.plan.groups[group.value].ranks != sharers)
      of.complain("group", *counted.op, "does not join the holders of its stage");
  }
  if (sum.op && there.average.op && !same_run(*sum.op, *there.average.op))
    of.complain("shard", *there.average.op, "is of another run than " + to_text(*sum.op));
}

void check_norms(const RankUpdates& of, SegmentId s, StepId step) {
  const UpdateStep& there = of.at(s, step);
  const Op* update = there.update.op;
  const int due = of.reads_norms && update && update->group.value >= 0;
  const Op whole = due ? *update : plan::update(s, 1, step, VersionId(0));
  for (const auto& [counted, missing] :
       {std::pair(there.norms, norms(whole.segment, whole.segments, step, whole.group)),
        std::pair(there.norm_sum, all_reduce_norms(whole.segment, whole.segments, step, whole.group))}) {
    of.check_count(counted, due, missing);
    if (counted.op && due && !same_run(*counted.op, *update))
      of.complain("shard", *counted.op, "is of another share than " + to_text(*update) + " writes");
  }
}

}  // namespace parabench::plan
