#include "analytic/simulate/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "analytic/closed_forms/memory_form.h"
#include "analytic/closed_forms/pipeline_opinions.h"
#include "analytic/closed_forms/traffic_form.h"
#include "analytic/simulate/loading.h"
#include "analytic/simulate/stage_terms.h"
#include "analytic/simulate/step_parts.h"
#include "analytic/simulate/term_list.h"
#include "base/enum_text.h"
#include "parallelism/plan/passes/statistics.h"
#include "parallelism/plan/strategies/stage_widths.h"

namespace parabench::analytic {
namespace {

/// How old the weights are by which an update's gradients are computed: the same for every update but the first ones.
void staleness(TermList& terms, StageId stage) {
  const plan::VersionRule& rule = terms.plan.versions[stage.value];
  if (rule.lag == 0) return;
  terms.add(fmt::format("staleness[stage {}]", stage.value), rule.lag, "updates",
            "updates between the weights that a step reads and those that its own update changes",
            "the strategy's definition");
}

/// PipeDream's price of the plan's stages, and of the alternative to all of them.
void replication(TermList& terms) {
  const plan::Plan& plan = terms.plan;
  if (!plan.asynchronous || !plan.servers.empty() || plan::micro_batches(plan) > 1) return;
  const auto add = [&](const char* name, const PlannerPeriod& period, const char* of) {
    terms.add(name, period.seconds, "s",
              fmt::format("{}: max(passes and update, weights over {:.3g} bytes/s, sync={}) / replicas, or transfers",
                          of, period.link.sum_bytes_per_s, to_text(period.link.sync)),
              terms.with_assumption("PipeDream's planner (SOSP'19, section 3.1)"));
  };
  add("planner_period", planner_period(plan, terms.sizes, terms.time), "the slowest stage");
  add("data_parallel_period", data_parallel_period(plan, terms.sizes, terms.time), "one stage on all ranks");
}

/// What copies of the whole model exchange, beside the backward that may hide it.
void exchanges_over_backward(TermList& terms) {
  if (terms.plan.stages > 1 || !plan::has_collectives(terms.plan.ranks[0], plan::Payload::gradients)) return;
  double exchanges = 0, backwards = 0;
  for (const plan::Lane& lane : terms.plan.ranks[0].lanes) {
    for (const plan::Op& op : lane.ops) {
      // Sums of statistics stand between passes, beside none.
      if (plan::is_collective(op.kind) && !plan::sums_statistics(terms.plan, op))
        exchanges += terms.time.seconds(terms.plan, Rank(0), op, 1);
      if (op.kind == plan::OpKind::backward)
        backwards += terms.time.seconds(terms.plan, Rank(0), op, terms.plan.spec.np);
    }
  }
  if (backwards > 0)
    terms.add(
        "exchanges_over_backward", exchanges / backwards, "1",
        "collectives one after the other / backwards, T_AR / tB: below 1 the backward could hide all but the last of "
        "them",
        terms.with_assumption("Jayarajan et al., MLSys'19; Peng et al., SOSP'19"));
}

/// The slowest loader, where that is known.
void loading(TermList& terms) {
  const std::vector<double> seconds = loading_s(terms.plan, terms.time);
  const auto slowest = std::ranges::max_element(seconds);
  if (slowest == seconds.end() || *slowest == 0) return;
  terms.add(fmt::format("loading[rank {}]", slowest - seconds.begin()), *slowest, "s",
            "samples that the rank reads in a step x seconds from sample to sample, beside the step",
            "loaders on their own");
}

/// The GPU of the rank that needs most of its memory.
void device_memory(TermList& terms, const MemoryModel& model, std::span<const RankPredicted> ranks) {
  const auto& most =
      *std::ranges::max_element(ranks, {}, [](const RankPredicted& r) { return r.peak_memory.device_used; });
  const MemoryUsage& memory = most.peak_memory;
  if (memory.device_used == 0) return;
  const std::string on = fmt::format("[rank {}]", most.rank.value);
  terms.add("memory_reserved" + on, static_cast<double>(memory.reserved), "bytes",
            fmt::format("{} bytes of tensors in the blocks and segments of torch's caching allocator",
                        memory.total_counted()),
            terms.with_assumption("replay of the plan's allocations"));
  const DeviceOverhead overhead = model.device_overhead(terms.plan);
  terms.add("memory_device_used" + on, static_cast<double>(memory.device_used), "bytes",
            fmt::format("reserved + context {} + communicator {} + arenas in its memory {}", overhead.context_bytes,
                        overhead.communicator_bytes,
                        memory.device_used - memory.reserved - overhead.context_bytes - overhead.communicator_bytes),
            terms.with_assumption("as calibrated; typical figures where nobody measured them"));
}

/// The process that needs most on the processor.
void resident_memory(TermList& terms, const MemoryModel& model, std::span<const RankPredicted> ranks) {
  const auto& most =
      *std::ranges::max_element(ranks, {}, [](const RankPredicted& r) { return r.peak_memory.resident; });
  const MemoryUsage& memory = most.peak_memory;
  if (memory.resident == 0) return;
  const std::int64_t process = model.process_bytes(terms.plan), counted = memory.total_counted();
  terms.add(fmt::format("memory_resident[rank {}]", most.rank.value), static_cast<double>(memory.resident), "bytes",
            fmt::format("process {} + counted {} + shares of other ranks' arenas {}", process, counted,
                        memory.resident - process - counted),
            "resident less counted in a calibration's first chain of the layers");
}

/// What the strategy's formulas say of the rank that holds most and of the busiest one, and what the latter sends to
/// others.
void closed_forms(TermList& terms, const plan::Plan& counted, const MemoryModel& model,
                  std::span<const RankPredicted> ranks, Rank busiest) {
  const Rank most =
      std::ranges::max_element(ranks, {}, [](const RankPredicted& r) { return r.peak_memory.total_counted(); })->rank;
  // Of a rank that computes the memory of passes may be unknown.
  const auto form = memory_form(counted, terms.sizes, model, most);
  if (form && (form->activations > 0 || form->in_flight == 0))
    terms.add(fmt::format("closed_form_memory[rank {}]", most.value), form->total(), "bytes", form->formula,
              "Rajbhandari et al., SC'20, and the strategy's row; without messages and temporaries");
  if (counted.ranks.size() == 1) return;
  const std::string on = fmt::format("[rank {}]", busiest.value);
  terms.add("bytes_sent" + on, sent_bytes(counted, terms.sizes, busiest), "bytes",
            "messages, and what a ring sends of collectives, per step", "counted over the plan's operations");
  if (const auto traffic = traffic_form(counted, terms.sizes, busiest))
    terms.add("closed_form_bytes_sent" + on, traffic->bytes, "bytes", traffic->formula, "the strategy's definition");
}

}  // namespace

std::vector<Term> terms_of(const plan::Plan& plan, const Sizes& sizes, const TimeModel& time, const MemoryModel& memory,
                           std::span<const RankPredicted> ranks, double step_s, const plan::Plan& counted) {
  TermList list(plan, sizes, time, counted);
  for (StageId stage; stage.value < plan.stages; ++stage) {
    stage_terms(list, stage);
    server_terms(list, stage);
    staleness(list, stage);
  }

  const Rank busiest = busiest_rank(ranks);
  const Breakdown& b = ranks[busiest.value].breakdown_s;
  const std::string on = fmt::format("[busiest rank {}]", busiest.value);
  const std::string from = "simulated timeline, mean over the steady steps";
  list.add("step_forward" + on, b.forward, "s", "sum of its forwards in a step", from);
  list.add("step_backward" + on, b.backward, "s", "sum of its backwards in a step", from);
  if (b.recompute > 0)
    list.add("step_recompute" + on, b.recompute, "s", "sum of its forwards that run again in a step", from);
  list.add("step_update" + on, b.update, "s",
           plan::uses(plan, plan::OpKind::norms) ? "sum of its updates, and of the norms that they read, in a step"
           : plan.averaging.every > 0            ? "sum of its updates and averages in a step"
           : plan::uses(plan, plan::OpKind::add) ? "sum of its updates, and of the additions of gradients, in a step"
           : plan::uses(plan, plan::OpKind::encode)
               ? "sum of its updates, and of what makes gradients smaller and whole again, in a step"
               : "sum of its updates in a step",
           from);
  list.add("step_communication_exposed" + on, b.communication_exposed, "s",
           "waiting after the awaited operation has ended elsewhere", from);
  list.add("step_bubble" + on, b.bubble, "s", "waiting before the awaited operation has ended elsewhere", from);
  if (b.data_wait > 0) list.add("step_data_wait" + on, b.data_wait, "s", "waiting for samples", from);
  double bubbles = 0;
  for (const RankPredicted& r : ranks) bubbles += r.breakdown_s.bubble;
  const double mean_bubble = bubbles / static_cast<double>(ranks.size());
  list.add("bubble_fraction", step_s > 0 ? mean_bubble / step_s : 0, "1", "mean over ranks of bubble / step time",
           "simulated timeline");
  list.add(
      "step_time", step_s, "s",
      "median of the steady steps, or what the slowest loader takes where that is more; the breakdown adds up to its "
      "mean",
      "simulated timeline");
  loading(list);
  replication(list);
  exchanges_over_backward(list);
  device_memory(list, memory, ranks);
  resident_memory(list, memory, ranks);
  closed_forms(list, counted, memory, ranks, busiest);
  const double flops = models::training_flops(sizes.model()).value * plan::batch_samples(plan);
  list.add("flops_per_step", flops, "FLOP", "samples x (forward + backward FLOPs), a multiply-add counts 2",
           "model specification");
  if (step_s > 0) list.add("flops_per_s", flops / step_s, "FLOP/s", "flops_per_step / step_time", "derived");
  return std::move(list.terms);
}

}  // namespace parabench::analytic
