#include "analytic/closed_forms/traffic_form.h"

#include <fmt/format.h>

#include <set>
#include <tuple>
#include <utility>

#include "analytic/closed_forms/rank_weights.h"
#include "base/compression.h"
#include "parallelism/plan/state/messages.h"
#include "parallelism/plan/ties.h"

namespace parabench::analytic {
namespace {

/// The part of a buffer that a ring's rank sends of it.
double ring_part(int ranks) { return (ranks - 1.0) / ranks; }

/// Whether a rank computes a stage for a replica.
bool computes(const plan::Plan& plan, Rank rank, StageId stage, ReplicaId replica) {
  const plan::Holding* held = plan::find_holding(plan, rank, stage);
  return held && held->replica == replica;
}

/// Between a worker and its servers, which hold `whole` bytes of weights each.
TrafficForm served(const plan::Plan& plan, Rank rank, double whole) {
  const int workers = plan::computing_ranks(plan), turns = plan::turns(plan);
  if (plan::is_server(plan, rank))
    return {whole * workers / turns, fmt::format("W to each of {} workers of an update", workers / turns)};
  return {whole / turns, turns > 1 ? fmt::format("W to servers / {} steps", turns) : "W to servers"};
}

/// Sums of what stands for gradients.
TrafficForm compressed(const plan::Plan& plan, const Sizes& sizes, int replicas) {
  const plan::MessageBytes own =
      plan::message_bytes(plan, sizes.parameters(), SegmentId(0), static_cast<int>(plan.segments.size()));
  const auto message = static_cast<double>(own.encoded + own.projected);
  if (compression(plan.spec).kind == CompressionKind::topk)
    return {(replicas - 1) * message, fmt::format("(p-1) x {:.0f} bytes of a message, p = {}", message, replicas)};
  return {2 * ring_part(replicas) * message,
          fmt::format("2 (p-1)/p x {:.0f} bytes of a message, p = {}", message, replicas)};
}

/// Sums of gradients, or of weights, of `whole` bytes; `steps`: of an update.
TrafficForm summed(const plan::Plan& plan, const Sizes& sizes, Rank rank, double whole, int steps) {
  const Sharing sharing = sharing_of(plan, rank);
  const int replicas = sharing.replicas, members = sharing.members;
  if (compression(plan.spec).is_on()) return compressed(plan, sizes, replicas);
  if (plan.averaging.every > 0)
    return {2 * ring_part(replicas) * whole / plan.averaging.every,
            fmt::format("2 (p-1)/p W / {} steps, p = {}", plan.averaging.every, replicas)};
  if (sharing.what != Sharded::nothing) {
    const int scatters = plan.scatters_pieces ? plan::micro_batches(plan) : 1, gathers = sharing.drops ? 2 : 1,
              groups = replicas / members;
    return {(scatters + gathers) * ring_part(members) * whole + 2 * ring_part(groups) * whole / members,
            fmt::format("{} (s-1)/s W + 2 (g-1)/g W/s, s = {}, g = {}", scatters + gathers, members, groups)};
  }
  const std::string each = steps > 1 ? fmt::format(" / {} steps", steps) : std::string();
  return {2 * ring_part(replicas) * whole / steps,
          replicas > 1 ? fmt::format("2 (p-1)/p W{}, p = {}", each, replicas) : "no sums"};
}

/// What leaves the rank's stages for the ones next to them, for a micro-batch of each of its replicas.
double boundary_bytes(const plan::Plan& plan, const Sizes& sizes, Rank rank) {
  double boundary = 0;
  for (const plan::Holding& held : plan.ranks[rank.value].holds) {
    const auto [first, last] = plan::segments_of(plan, held.stage);
    const auto apart = [&](StageId other) {
      return other.value >= 0 && other.value < plan.stages && !computes(plan, rank, other, held.replica);
    };
    const auto bytes = [&](const plan::Op& op) { return static_cast<double>(sizes.payload_bytes(plan, rank, op)); };
    if (apart(StageId(held.stage.value + 1)))
      boundary += bytes(plan::send_forward(last, MicroBatchId(0), StepId(0), rank));
    if (apart(StageId(held.stage.value - 1)))
      boundary += bytes(plan::send_backward(first, MicroBatchId(0), StepId(0), rank));
  }
  return boundary;
}

/// The first of the ranks that compute a stage for a replica.
Rank first_holder(const plan::Plan& plan, StageId stage, ReplicaId replica) {
  Rank rank(0);
  while (!computes(plan, rank, stage, replica)) ++rank;
  return rank;
}

/// Of the skips that leave the rank's stages, and of the gradients of those that enter them, likewise: each once to
/// another rank.
double skipped_bytes(const plan::Plan& plan, const Sizes& sizes, Rank rank) {
  double bytes = 0;
  std::set<std::tuple<int, ReplicaId, Rank, bool>> sent;
  for (const plan::SkipPort& skip : plan.skips) {
    for (const plan::Holding& held : plan.ranks[rank.value].holds) {
      for (const auto& [own, other] : {std::pair{skip.from, skip.to}, std::pair{skip.to, skip.from}}) {
        const StageId there = plan::stage_of(plan, other);
        if (plan::stage_of(plan, own) != held.stage || computes(plan, rank, there, held.replica)) continue;
        const Rank to = first_holder(plan, there, held.replica);
        const plan::Op forward = plan::forward(own, MicroBatchId(0), StepId(0), VersionId(0));
        if (sent.emplace(skip.tensor, held.replica, to, own == skip.from).second)
          bytes += static_cast<double>(sizes.skip_bytes(plan, rank, forward, skip.tensor));
      }
    }
  }
  return bytes;
}

/// Statistics of batch norms and their gradients, for a micro-batch.
double statistics_bytes(const plan::Plan& plan, const Sizes& sizes, Rank rank) {
  double bytes = 0;
  for (const SegmentId segment : plan.statistics) {
    if (plan::replica_of(plan, rank, segment).value < 0) continue;
    const auto ranks = static_cast<int>(plan::holders(plan, plan::stage_of(plan, segment)).size());
    const plan::Op forward = plan::forward(segment, MicroBatchId(0), StepId(0), VersionId(0));
    bytes += 2 * ring_part(ranks) * static_cast<double>(sizes.output_bytes(plan, rank, forward));
  }
  constexpr int directions = 2;
  return directions * bytes;
}

/// The sum of a tensor that the rank and another one have for a stage each.
double tied_bytes(const plan::Plan& plan, const Sizes& sizes, Rank rank) {
  if (!plan.tie || plan.tie->shared) return 0;
  const auto holds = [&](SegmentId segment) { return plan::replica_of(plan, rank, segment).value >= 0; };
  if (!holds(plan.tie->original) && !holds(plan.tie->copy)) return 0;
  const auto members = static_cast<int>(plan::tie_members(plan, rank).size());
  return 2 * ring_part(members) * static_cast<double>(sizes.tied_tensor_bytes(plan.spec.precision));
}

}  // namespace

std::optional<TrafficForm> traffic_form(const plan::Plan& plan, const Sizes& sizes, Rank rank) {
  if (plan.shards > 1) return std::nullopt;
  const double whole = weight_bytes(plan, sizes, rank);
  const bool is_served = !plan.servers.empty();
  // Of pipelines that do not drain an update's gradients are those of as many steps as the stage has ranks, which take
  // the steps by turns.
  const StageId stage = plan.ranks[rank.value].holds.front().stage;
  const int steps = plan.asynchronous && !is_served ? plan.versions[stage.value].steps_per_update : 1;
  TrafficForm form = is_served ? served(plan, rank, whole) : summed(plan, sizes, rank, whole, steps);
  form.formula += fmt::format(", W = {:.0f}", whole);
  if (is_served) return form;
  const int pieces = plan::micro_batches(plan);
  const auto add = [&](double bytes, const std::string& text) {
    form.bytes += bytes;
    if (bytes > 0) form.formula += ", + " + text;
  };
  const double handed_on = boundary_bytes(plan, sizes, rank) + skipped_bytes(plan, sizes, rank);
  add(pieces * handed_on / steps, fmt::format("{} micro-batches x {:.0f} bytes{}", pieces, handed_on,
                                              steps > 1 ? fmt::format(" / {} steps", steps) : std::string()));
  const double statistics = pieces * statistics_bytes(plan, sizes, rank);
  add(statistics, fmt::format("{:.0f} bytes of statistics", statistics));
  const double tied = tied_bytes(plan, sizes, rank) / steps;
  add(tied, fmt::format("{:.0f} bytes of a shared tensor", tied));
  return form;
}

double sent_bytes(const plan::Plan& plan, const Sizes& sizes, Rank rank) {
  double sent = 0;
  for (const plan::Lane& lane : plan.ranks[rank.value].lanes) {
    for (const plan::Op& op : lane.ops) {
      const auto bytes = [&] { return static_cast<double>(sizes.payload_bytes(plan, rank, op)); };
      if (op.kind == plan::OpKind::send) sent += bytes();
      if (plan::is_collective(op.kind))
        sent += (op.kind == plan::OpKind::all_reduce ? 2 : 1) *
                ring_part(static_cast<int>(plan.groups[op.group.value].ranks.size())) * bytes();
    }
  }
  return sent / plan.steps;
}

}  // namespace parabench::analytic
