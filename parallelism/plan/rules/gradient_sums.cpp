#include "parallelism/plan/rules/gradient_sums.h"

#include <algorithm>

#include "base/case_text.h"

namespace parabench::plan {
namespace {

/// Whether a rank's groups divide the holders of a stage as neighbours that share a run, `within`, and those that have
/// the same share of it, `across`. All ascending.
bool divide(const std::vector<Rank>& holders, Rank rank, const std::vector<Rank>& within,
            const std::vector<Rank>& across) {
  const std::ptrdiff_t size = std::ssize(within), groups = std::ssize(across);
  if (size * groups != std::ssize(holders)) return false;
  const std::ptrdiff_t place = std::ranges::lower_bound(holders, rank) - holders.begin(), own = place % size;
  if (!std::equal(within.begin(), within.end(), holders.begin() + (place - own))) return false;
  for (std::ptrdiff_t i = 0; i < groups; ++i)
    if (across[i] != holders[i * size + own]) return false;
  return true;
}

void check_sum(const RankUpdates& of, SegmentId s, StepId step, const std::vector<Rank>& sharers) {
  const Counted& sum = of.at(s, step).sum;
  const bool is_due = sharers.size() > 1 && is_update_due(of.plan, stage_of(of.plan, s), step) &&
                      of.plan.averaging.every == 0 && of.plan.servers.empty();
  const Op missing = sum.op ? *sum.op : all_reduce(s, 1, step, GroupId(-1));
  const int parts = of.scatters(sharers) ? micro_batches(of.plan) : parts_of(of.plan, missing.segment);
  of.check_count(sum, is_due ? parts : 0, missing);
  if (sum.op && of.scatters(sharers) && sum.op->kind != OpKind::reduce_scatter)
    of.complain("shard", *sum.op, "is of no micro-batch");
  if (sum.op && sum.op->kind != OpKind::reduce_scatter && of.members(*sum.op) != sharers)
    of.complain("group", *sum.op, "does not join the holders of its stage");
}

/// Where the holders of a stage share its runs in groups, they sum the shares between these.
void check_share_sum(const RankUpdates& of, SegmentId s, StepId step, const std::vector<Rank>& sharers) {
  const UpdateStep& there = of.at(s, step);
  const Op* scatter = there.sum.op && there.sum.op->kind == OpKind::reduce_scatter ? there.sum.op : nullptr;
  const int due = scatter && of.members(*scatter) != sharers;
  const Op missing = all_reduce_shares(s, 1, step, GroupId(-1));
  of.check_count(there.share_sum, due, missing);
  const Op* sum = there.share_sum.op;
  if (!sum || !scatter) return;
  if (sum->segment != scatter->segment || sum->segments != scatter->segments)
    of.complain("shard", *sum, "is of other shares than " + to_text(*scatter) + " left there");
  if (!divide(sharers, of.rank, of.members(*scatter), of.members(*sum)))
    of.complain("group", *sum, "does not join those that have the same share of its stage");
}

/// What is sent in the place of gradients where the case compresses them, and nowhere else.
void check_compression(const RankUpdates& of, SegmentId s, StepId step) {
  const UpdateStep& there = of.at(s, step);
  const bool on = of.compression.is_on(), projects = of.compression.kind == CompressionKind::powersgd;
  const int sums = on && there.sum.op, projections = projects && there.sum.op;
  if (there.sum.op) {
    const OpKind kind = of.compression.kind == CompressionKind::topk ? OpKind::all_gather : OpKind::all_reduce;
    const bool fits = there.sum.op->payload == (on ? Payload::encoded : Payload::gradients);
    if (!fits || (on && there.sum.op->kind != kind))
      of.complain("compression", *there.sum.op, "is not how compress:" + to_text(of.plan.spec.compress) + " sums");
  }
  const Op whole = there.sum.op ? *there.sum.op : all_reduce(s, 1, step, GroupId(-1));
  const auto missing = [&](OpKind kind) {
    return compression_step(kind, whole.segment, whole.segments, step, whole.group);
  };
  const Op no_projection =
      compressed_sum(OpKind::all_reduce, Payload::projected, whole.segment, whole.segments, step, whole.group);
  for (const auto& [counted, due, op] : {std::tuple(there.encode, sums, missing(OpKind::encode)),
                                         std::tuple(there.project, projections, missing(OpKind::project)),
                                         std::tuple(there.projected, projections, no_projection),
                                         std::tuple(there.decode, sums, missing(OpKind::decode))}) {
    of.check_count(counted, due, op);
    if (counted.op && due > 0 && !same_run(*counted.op, whole))
      of.complain("shard", *counted.op, "is of another run than " + to_text(whole));
  }
}

}  // namespace

void check_part(const RankUpdates& of, const Op& op, SeenSums& seen) {
  const Op* before = of.at(op.segment, op.step).sum.op;
  if (before && !same_run(op, *before)) of.complain("parts", op, "is of another run than " + to_text(*before));
  if (!seen.parts.insert({op.segment, op.step, op.port}).second) of.complain("exactly once", op, "is one too many");
}

void check_piece(const RankUpdates& of, const Op& op, Counted UpdateStep::*member, SeenSums& seen) {
  const Op* before = (of.at(op.segment, op.step).*member).op;
  if (before && !same_run(op, *before)) of.complain("shard", op, "is of another run than " + to_text(*before));
  if (!seen.pieces.insert({op.kind, op.segment, op.step, op.micro_batch}).second)
    of.complain("exactly once", op, "is one too many");
}

void check_gradient_sums(const RankUpdates& of, SegmentId s, StepId step, const std::vector<Rank>& sharers) {
  check_sum(of, s, step, sharers);
  check_share_sum(of, s, step, sharers);
  check_compression(of, s, step);
}

}  // namespace parabench::plan
