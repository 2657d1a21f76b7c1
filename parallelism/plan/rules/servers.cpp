#include "parallelism/plan/rules/servers.h"

#include <map>
#include <set>
#include <span>
#include <tuple>

namespace parabench::plan {

void check_same_share(const RankUpdates& of, const Op& op, Counted UpdateStep::*member) {
  for (int i = 0; i < op.segments; ++i) {
    const Op* before = (of.steps[op.segment.value + i][op.step.value].*member).op;
    if (!before) continue;
    if (!same_run(op, *before)) return of.complain("shard", op, "is of another run than " + to_text(*before));
    if (op.version != before->version) return of.complain("version", op, "is of another than " + to_text(*before));
  }
}

void check_adds(const RankUpdates& of) {
  std::multiset<std::tuple<SegmentId, int, StepId, Rank>> received;
  std::map<std::tuple<SegmentId, int, StepId>, int> workers, places;
  const auto key = [](const Op& op) { return std::tuple(op.segment, op.segments, op.step, op.peer); };
  for (const Lane& lane : of.plan.ranks[of.rank.value].lanes) {
    if (lane.key.kind != LaneKind::receive || lane.key.purpose != Payload::gradients) continue;
    for (const Op& op : lane.ops) {
      received.insert(key(op));
      ++workers[{op.segment, op.segments, op.step}];
    }
  }
  for (const Op& op : of.plan.ranks[of.rank.value].compute()) {
    if (!adds_sent(op)) continue;
    if (of.plan.taken > 0) {
      if (const int sent = workers[{op.segment, op.segments, op.step}]; sent != of.plan.replicas)
        of.complain("exactly once", op, "chooses among the gradients of " + std::to_string(sent) + " workers");
      if (op.port != ++places[{op.segment, op.segments, op.step}])
        of.complain("first come", op, "is not of the next of those that are taken");
      continue;
    }
    const auto found = received.find(key(op));
    if (found == received.end()) {
      of.complain("exactly once", op, "is of gradients that rank " + std::to_string(op.peer.value) + " did not send");
    } else {
      received.erase(found);
    }
  }
}

void check_server(const RankUpdates& of, SegmentId s, StepId step, const std::vector<Rank>& sharers) {
  const UpdateStep& there = of.at(s, step);
  const StageId stage = stage_of(of.plan, s);
  const bool served = !of.plan.servers.empty(), serves = served && updates(of.plan, of.rank, stage);
  const std::span<const Rank> servers = servers_of(of.plan, stage);
  const int exchanges = served && !serves && there.made.count > 0 ? static_cast<int>(servers.size()) : 0;
  const Rank server = served ? servers.front() : Rank(-1);
  const VersionId version = updates_by(of.plan, stage, step);
  const bool adds_shares = of.scatters(sharers) && is_update_due(of.plan, stage, step);
  const int summed = of.plan.taken > 0 ? of.plan.taken : of.plan.replicas;
  const int adds = serves ? summed : adds_shares ? micro_batches(of.plan) : 0;
  if (there.add.op && there.update.op && adds_shares && !same_run(*there.add.op, *there.update.op))
    of.complain("shard", *there.add.op, "is of other shares than " + to_text(*there.update.op) + " writes");
  const Op no_push = send_gradients(s, 1, step, server), no_add = add_gradients(s, 1, step, server),
           no_pull = recv_parameters(s, 1, step, version, server);
  for (const auto& [counted, due, missing] :
       {std::tuple(there.push, exchanges, no_push), std::tuple(there.pull, exchanges, no_pull),
        std::tuple(there.add, adds, no_add)}) {
    of.check_count(counted, due, missing);
    const bool leaves_stage =
        counted.op && stage_of(of.plan, SegmentId(counted.op->segment.value + counted.op->segments - 1)) !=
                          stage_of(of.plan, counted.op->segment);
    if (leaves_stage) of.complain("placement", *counted.op, "is of several stages");
  }
  if (there.pull.op && there.pull.op->version != version)
    of.complain("version", *there.pull.op,
                "is of no version " + std::to_string(version.value) + ", which its step wrote");
}

void check_shares_of_servers(const RankUpdates& of, SegmentId s, StepId step) {
  if (!served_in_shares(of.plan)) return;
  const UpdateStep& there = of.at(s, step);
  const bool serves = updates(of.plan, of.rank, stage_of(of.plan, s));
  const Op* const like = serves ? there.update.op : there.push.op;
  for (const Op* op : {serves ? there.add.op : there.pull.op, like}) {
    if (!op) continue;
    if (op->group.value < 0 || of.members(*op) != of.plan.servers)
      of.complain("group", *op, "does not join the servers of its stage");
    if (like && !same_run(*op, *like)) of.complain("shard", *op, "is of other shares than " + to_text(*like));
  }
}

}  // namespace parabench::plan
