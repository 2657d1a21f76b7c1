#include "analytic/closed_forms/strategy_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analytic/closed_forms/model_states.h"
#include "base/optimizer.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/state/state_layout.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::analytic {
namespace {

/// How a rank's states are shared.
struct Sharing {
  Sharded what = Sharded::nothing;
  int members = 1;     ///< that divide them
  int replicas = 1;    ///< of the weights, whole or in shares
  bool drops = false;  ///< gathered weights are dropped between forward and backward
};

Sharing sharing_of(const plan::Plan& plan, Rank rank) {
  Sharing sharing;
  const StageId stage = plan.ranks[rank.value].holds.front().stage;
  sharing.replicas = static_cast<int>(plan::holders(plan, stage).size());
  for (const plan::Op& op : plan.ranks[rank.value].compute()) {
    if (op.kind != plan::OpKind::update || op.group.value < 0) continue;
    sharing.members = static_cast<int>(plan.groups[op.group.value].ranks.size());
    sharing.what = plan.room.weights > 0                             ? Sharded::parameters
                   : plan.room.gradients > 0 || plan.scatters_pieces ? Sharded::gradients
                                                                     : Sharded::optimizer;
    break;
  }
  sharing.drops = sharing.what == Sharded::parameters && plan.spec.reshard;
  return sharing;
}

/// Of the segments that a rank holds.
double weight_bytes(const plan::Plan& plan, const Sizes& sizes, Rank rank) {
  double bytes = 0;
  for (const plan::Holding& held : plan.ranks[rank.value].holds) {
    const auto [first, last] = plan::segments_of(plan, held.stage);
    bytes += static_cast<double>(sizes.parameter_bytes(plan, first, last.value - first.value + 1));
  }
  return bytes;
}

bool serves(const plan::Plan& plan, Rank rank) { return std::ranges::find(plan.servers, rank) != plan.servers.end(); }

/// The largest run that such a collective moves at a time.
double largest_run(const plan::Plan& plan, const Sizes& sizes, Rank rank, plan::OpKind kind) {
  double largest = 0;
  for (const plan::Lane& lane : plan.ranks[rank.value].lanes)
    for (const plan::Op& op : lane.ops)
      if (op.kind == kind) largest = std::max(largest, static_cast<double>(sizes.payload_bytes(plan, rank, op)));
  return largest;
}

/// Pairs of stage and micro-batch that wait for their backward; 0: not known.
int pairs_in_flight(const plan::Plan& plan, Rank rank) {
  const plan::RankProgram& program = plan.ranks[rank.value];
  if (program.in_flight > 0) return program.in_flight;
  const plan::Strategy& strategy = plan::find_strategy(plan.spec.strategy.name);
  if (strategy.from_file) return 0;
  // Of two pipelines against each other between P/2 + 1 and P (Li and Hoefler, SC'21).
  if (strategy.schedule.stages == plan::StageOrder::crossed) return plan.stages;
  if (!plan.asynchronous || !plan.servers.empty()) return static_cast<int>(program.holds.size());
  const std::vector<int> widths = plan::stage_widths(plan);
  const int stage = program.holds.front().stage.value;
  int from_here = 0;
  for (std::size_t s = stage; s < widths.size(); ++s) from_here += widths[s];
  return (from_here + widths[stage] - 1) / widths[stage];
}

/// What a stage saves for a micro-batch, on average over those that the rank holds.
double saved_of_a_pair(const plan::Plan& plan, const MemoryModel& memory, Rank rank) {
  const auto& holds = plan.ranks[rank.value].holds;
  double bytes = 0;
  for (const plan::Holding& held : holds) {
    const auto [first, last] = plan::segments_of(plan, held.stage);
    for (SegmentId s = first; s <= last; ++s)
      bytes += static_cast<double>(
          memory.saved_bytes(plan, rank, plan::forward(s, MicroBatchId(0), StepId(0), VersionId(0))));
  }
  return bytes / static_cast<double>(holds.size());
}

/// The part of a buffer that a ring's rank sends of it.
double ring_part(int ranks) { return (ranks - 1.0) / ranks; }

}  // namespace

std::optional<MemoryForm> memory_form(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory,
                                      Rank rank) {
  if (serves(plan, rank) || plan.spec.recompute != Recompute::none || plan::uses(plan, plan::OpKind::encode))
    return std::nullopt;
  const Sharing sharing = sharing_of(plan, rank);
  const double whole = weight_bytes(plan, sizes, rank);
  const auto part = [&](Sharded since) { return sharing.what >= since ? whole / sharing.members : whole; };
  MemoryForm form;
  form.parameters =
      part(Sharded::parameters) + plan.room.weights * largest_run(plan, sizes, rank, plan::OpKind::all_gather);
  form.gradients =
      part(Sharded::gradients) +
      static_cast<double>(plan::state_layout(plan, sizes.parameters(), rank).bytes(plan::StateRole::buckets));
  if (sharing.what >= Sharded::gradients)
    form.gradients += plan::gradient_buffers * largest_run(plan, sizes, rank, plan::OpKind::reduce_scatter);
  const int states = plan.servers.empty() ? state_count(optimizer_rule(plan.spec)) : 0;
  form.optimizer = states * part(Sharded::optimizer);
  if (plan.averaging.every > 0 && !plan.averaging.is_mean()) form.optimizer += 2 * whole;
  form.weight_versions = (plan.ranks[rank.value].weight_versions - 1) * whole;
  form.in_flight = pairs_in_flight(plan, rank);
  if (form.in_flight == 0) return std::nullopt;
  form.activations = form.in_flight * saved_of_a_pair(plan, memory, rank);
  form.formula = fmt::format(
      "weights {:.0f} + gradients {:.0f} + {} states of the optimizer {:.0f} + older versions {:.0f} + {} in flight x "
      "{:.0f} bytes",
      form.parameters, form.gradients, states, form.optimizer, form.weight_versions, form.in_flight,
      form.activations / form.in_flight);
  if (sharing.members > 1)
    form.formula += fmt::format(", of which {} ranks share the {}", sharing.members, to_text(sharing.what));
  return form;
}

std::optional<TrafficForm> traffic_form(const plan::Plan& plan, const Sizes& sizes, Rank rank) {
  if (serves(plan, rank) || plan::uses(plan, plan::OpKind::encode) || !plan.statistics.empty() || !plan.skips.empty() ||
      plan.tie || plan.shards > 1)
    return std::nullopt;
  const double whole = weight_bytes(plan, sizes, rank);
  const Sharing sharing = sharing_of(plan, rank);
  const plan::RankProgram& program = plan.ranks[rank.value];
  const int replicas = sharing.replicas, members = sharing.members, pieces = plan::micro_batches(plan);
  double sums = 0;
  std::string text;
  if (!plan.servers.empty()) {
    sums = whole;
    text = "W to servers";
  } else if (plan.averaging.every > 0) {
    sums = 2 * ring_part(replicas) * whole / plan.averaging.every;
    text = fmt::format("2 (p-1)/p W / {} steps, p = {}", plan.averaging.every, replicas);
  } else if (sharing.what != Sharded::nothing) {
    const int scatters = plan.scatters_pieces ? pieces : 1, gathers = sharing.drops ? 2 : 1,
              groups = replicas / members;
    sums = (scatters + gathers) * ring_part(members) * whole + 2 * ring_part(groups) * whole / members;
    text = fmt::format("{} (s-1)/s W + 2 (g-1)/g W/s, s = {}, g = {}", scatters + gathers, members, groups);
  } else {
    // Of pipelines that do not drain an update's gradients are those of as many steps as the stage has ranks.
    const int steps = plan.asynchronous ? plan.versions[program.holds.front().stage.value].steps_per_update : 1;
    sums = 2 * ring_part(replicas) * whole / steps;
    text = replicas > 1 ? fmt::format("2 (p-1)/p W, p = {}", replicas) : "no sums";
  }
  double boundary = 0;
  for (const plan::Holding& held : program.holds) {
    const auto [first, last] = plan::segments_of(plan, held.stage);
    const auto apart = [&](StageId other) {
      const plan::Holding* here = plan::find_holding(plan, rank, other);
      return other.value >= 0 && other.value < plan.stages && (!here || here->replica != held.replica);
    };
    const auto bytes = [&](const plan::Op& op) { return static_cast<double>(sizes.payload_bytes(plan, rank, op)); };
    if (apart(StageId(held.stage.value + 1)))
      boundary += bytes(plan::send_forward(last, MicroBatchId(0), StepId(0), rank));
    if (apart(StageId(held.stage.value - 1)))
      boundary += bytes(plan::send_backward(first, MicroBatchId(0), StepId(0), rank));
  }
  text += fmt::format(", W = {:.0f}", whole);
  if (boundary > 0) text += fmt::format(", + {} micro-batches x {:.0f} bytes", pieces, boundary);
  return TrafficForm{sums + pieces * boundary, std::move(text)};
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
