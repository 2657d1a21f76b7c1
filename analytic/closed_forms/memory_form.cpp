#include "analytic/closed_forms/memory_form.h"

#include <fmt/format.h>

#include <algorithm>

#include "analytic/closed_forms/rank_weights.h"
#include "base/compression.h"
#include "base/optimizer.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/state/messages.h"
#include "parallelism/plan/state/state_layout.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::analytic {
namespace {

/// The largest run that such an operation moves at a time.
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

/// Whether forwards of a segment run again. The first one does where not all do.
bool runs_again(const plan::Plan& plan, Rank rank, SegmentId segment) {
  const auto& ops = plan.ranks[rank.value].compute();
  const auto first = std::ranges::find_if(
      ops, [&](const plan::Op& op) { return op.kind == plan::OpKind::forward && op.segment == segment; });
  return first != ops.end() && first->discards;
}

/// Whether the rank holds a tensor that skips to one of its segments anyway: in a graph, as an input or output, or for
/// an earlier taker.
bool lies_anyway(const plan::Plan& plan, const Sizes& sizes, Rank rank, const plan::SkipPort& skip) {
  const ReplicaId replica = plan::replica_of(plan, rank, skip.to);
  const auto is_here = [&](SegmentId s) { return plan::replica_of(plan, rank, s) == replica; };
  if (is_here(skip.from)) {
    const Sizes::SkipMemory lies = sizes.skip_memory(plan, skip.from, skip.tensor);
    const bool is_output = lies == Sizes::SkipMemory::output && is_here(SegmentId(skip.from.value + 1));
    if (lies == Sizes::SkipMemory::input || is_output || !runs_again(plan, rank, skip.from)) return true;
  }
  return std::ranges::any_of(plan.skips, [&](const plan::SkipPort& other) {
    return other.tensor == skip.tensor && other.to < skip.to && is_here(other.to);
  });
}

/// What waits for the forward that runs again: the segment's input, and what skips to it.
double entry_bytes(const plan::Plan& plan, const Sizes& sizes, Rank rank, SegmentId segment) {
  const plan::Op forward = plan::forward(segment, MicroBatchId(0), StepId(0), VersionId(0));
  std::int64_t bytes = 0;
  if (segment > SegmentId(0)) {
    bytes = sizes.input_bytes(plan, rank, forward);
  } else if (plan.spec.input == InputKind::host) {
    bytes = sizes.image_bytes(plan, rank, forward);
  }
  for (const plan::SkipPort& skip : plan.skips) {
    if (skip.to == segment && !lies_anyway(plan, sizes, rank, skip))
      bytes += sizes.skip_bytes(plan, rank, forward, skip.tensor);
  }
  return static_cast<double>(bytes);
}

/// What a rank keeps of a micro-batch of one of its stages, on average over these.
struct PairBytes {
  double whole = 0;    ///< where no forward runs again: all that the stage saves
  double waiting = 0;  ///< else, of segments that run again the entries
  double again = 0;    ///< what the largest of these saves beyond what is in its entry; 0: none runs again
};
PairBytes bytes_of_a_pair(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory, Rank rank) {
  PairBytes pair;
  for (const SegmentId segment : plan::segments_held(plan, rank)) {
    const plan::Op forward = plan::forward(segment, MicroBatchId(0), StepId(0), VersionId(0));
    const auto saved = static_cast<double>(memory.saved_bytes(plan, rank, forward));
    pair.whole += saved;
    if (!runs_again(plan, rank, segment)) {
      pair.waiting += saved;
      continue;
    }
    const double entry = entry_bytes(plan, sizes, rank, segment);
    pair.waiting += entry;
    // Images are a part of what the first segment saves.
    pair.again = std::max(pair.again, segment > SegmentId(0) ? saved : saved - entry);
  }
  const auto stages = static_cast<double>(plan.ranks[rank.value].holds.size());
  pair.whole /= stages;
  pair.waiting /= stages;
  return pair;
}

/// Those of `in_flight` pairs whose forwards do not run again though others of their segments do, when most is held.
int whole_pairs(const plan::Plan& plan, Rank rank, int in_flight, const PairBytes& pair) {
  if (plan.spec.recompute != Recompute::except_last) return 0;
  const auto stages = static_cast<int>(plan.ranks[rank.value].holds.size());
  const int of_a_step = stages * plan::micro_batches(plan);
  const int last = std::min(in_flight, stages * ((in_flight + of_a_step - 1) / of_a_step));
  // Where all in flight may be the last of a step, as many before them run again.
  const bool run_before = last == in_flight && in_flight < of_a_step;
  return run_before && in_flight * pair.waiting + pair.again > last * pair.whole ? 0 : last;
}

/// Sets what is in flight, and tells the formula.
std::string set_activations(MemoryForm& form, const plan::Plan& plan, Rank rank, const PairBytes& pair) {
  if (pair.again == 0) {
    form.activations = form.in_flight * pair.whole;
    return fmt::format("{} in flight x {:.0f} bytes", form.in_flight, pair.whole);
  }
  const int whole = whole_pairs(plan, rank, form.in_flight, pair), waiting = form.in_flight - whole;
  const double again = waiting > 0 ? pair.again : 0;
  form.activations = whole * pair.whole + waiting * pair.waiting + again;
  const std::string last = whole > 0 ? fmt::format("{} x {:.0f} + ", whole, pair.whole) : std::string();
  return fmt::format("{} in flight, {}{} x entries of {:.0f} + {:.0f} bytes of the segment that runs again",
                     form.in_flight, last, waiting, pair.waiting, again);
}

/// What compressed sums hold beside gradients of so many bytes.
double compression_bytes(const plan::Plan& plan, const Sizes& sizes, double gradients) {
  const Compression by = compression(plan.spec);
  if (!by.is_on()) return 0;
  const plan::MessageBytes own =
      plan::message_bytes(plan, sizes.parameters(), SegmentId(0), static_cast<int>(plan.segments.size()));
  const int messages = by.kind == CompressionKind::topk ? plan.replicas : 1;
  return (by.feeds_back() ? gradients : 0) + static_cast<double>(own.encoded * messages + own.projected);
}

MemoryForm server_form(const plan::Plan& plan, const Sizes& sizes, Rank rank) {
  const double held = weight_bytes(plan, sizes, rank), run = largest_run(plan, sizes, rank, plan::OpKind::receive);
  const int workers = plan::computing_ranks(plan), states = state_count(optimizer_rule(plan.spec));
  MemoryForm form;
  form.parameters = held;
  form.gradients = held + workers * run;
  form.optimizer = states * held;
  form.formula = fmt::format(
      "weights {:.0f} + gradients {:.0f} + {} states of the optimizer {:.0f} + {} workers x {:.0f} bytes of a run",
      form.parameters, held, states, form.optimizer, workers, run);
  return form;
}

/// All but activations.
MemoryForm states_form(const plan::Plan& plan, const Sizes& sizes, Rank rank, const Sharing& sharing) {
  const double whole = weight_bytes(plan, sizes, rank);
  const auto part = [&](Sharded since) { return sharing.what >= since ? whole / sharing.members : whole; };
  const double compressed = compression_bytes(plan, sizes, whole);
  MemoryForm form;
  form.parameters =
      part(Sharded::parameters) + plan.room.weights * largest_run(plan, sizes, rank, plan::OpKind::all_gather);
  form.gradients =
      part(Sharded::gradients) + compressed +
      static_cast<double>(plan::state_layout(plan, sizes.parameters(), rank).bytes(plan::StateRole::buckets));
  if (sharing.what >= Sharded::gradients)
    form.gradients += plan::gradient_buffers * largest_run(plan, sizes, rank, plan::OpKind::reduce_scatter);
  const int states = plan.servers.empty() ? state_count(optimizer_rule(plan.spec)) : 0;
  form.optimizer = states * part(Sharded::optimizer);
  if (plan.averaging.every > 0 && !plan.averaging.is_mean()) form.optimizer += 2 * whole;
  form.weight_versions = (plan.ranks[rank.value].weight_versions - 1) * whole;
  form.formula = fmt::format("weights {:.0f} + gradients {:.0f}", form.parameters, form.gradients - compressed);
  if (compressed > 0) form.formula += fmt::format(" + messages and what they leave out {:.0f}", compressed);
  form.formula += fmt::format(" + {} states of the optimizer {:.0f} + older versions {:.0f}", states, form.optimizer,
                              form.weight_versions);
  return form;
}

}  // namespace

std::optional<MemoryForm> memory_form(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory,
                                      Rank rank) {
  if (plan::is_server(plan, rank)) return server_form(plan, sizes, rank);
  const int in_flight = pairs_in_flight(plan, rank);
  if (in_flight == 0) return std::nullopt;
  const PairBytes pair = bytes_of_a_pair(plan, sizes, memory, rank);
  if (pair.again > 0 && plan::find_strategy(plan.spec.strategy.name).splits_backwards()) return std::nullopt;
  const Sharing sharing = sharing_of(plan, rank);
  MemoryForm form = states_form(plan, sizes, rank, sharing);
  form.in_flight = in_flight;
  form.formula += " + " + set_activations(form, plan, rank, pair);
  if (sharing.members > 1)
    form.formula += fmt::format(", of which {} ranks share the {}", sharing.members, to_text(sharing.what));
  return form;
}

}  // namespace parabench::analytic
