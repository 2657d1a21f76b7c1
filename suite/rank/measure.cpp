#include "suite/rank/measure.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "base/case_text.h"
#include "base/file.h"
#include "base/statistics.h"
#include "parallelism/comm/algorithms/choice.h"
#include "parallelism/comm/mpi/session.h"
#include "parallelism/exec/arithmetic.h"
#include "parallelism/exec/arrivals.h"
#include "parallelism/exec/emulation.h"
#include "parallelism/exec/executor.h"
#include "parallelism/exec/firing.h"
#include "parallelism/exec/tuning.h"
#include "parallelism/plan/excerpt.h"
#include "parallelism/plan/formats/print_trace.h"
#include "suite/protocol/folder.h"
#include "suite/rank/canary.h"
#include "suite/rank/clock.h"
#include "suite/rank/rank_reports.h"
#include "suite/rank/reductions.h"
#include "suite/rank/reply.h"
#include "suite/rank/resident.h"

namespace parabench::rank {
namespace {

/// Type of the rank's weights; nullopt where its stage has none.
std::optional<torch::ScalarType> weight_type(const exec::StageState& state, const std::vector<SegmentId>& held) {
  for (SegmentId s : held)
    for (const modules::LayerTensors& layer : state.tensors(s, VersionId(0)))
      if (!layer.parameters.empty()) return layer.parameters.front().scalar_type();
  return std::nullopt;
}

/// Of the compute operations of a rank from a step on; nullopt where they keep the plan's order.
std::optional<results::FiredTasks> fired_tasks(const plan::Plan& plan, Rank rank, const std::vector<plan::Span>& spans,
                                               StepId first) {
  if (!is_futurized(plan.spec)) return std::nullopt;
  const auto& ops = plan.ranks[rank.value].compute();
  std::vector<double> seconds;
  double latest_start = 0;
  int early = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].step < first) continue;
    seconds.push_back(spans[i].end - spans[i].start);
    early += spans[i].start < latest_start;
    latest_start = std::max(latest_start, spans[i].start);
  }
  if (seconds.empty()) return std::nullopt;
  const auto count = static_cast<double>(seconds.size());
  return results::FiredTasks{.per_step = count / (plan.steps - first.value),
                             .median_s = median(seconds),
                             .empty_s = exec::empty_operation_s(plan, rank),
                             .early_share = early / count};
}

/// Repeats of the plan's own steps to run alone; none where steps of the plan have no end of their own, or no other
/// rank.
int isolated_count(const Launch& launch) {
  if (launch.plan.asynchronous || launch.plan.spec.np == 1) return 0;
  const int steps = std::min(launch.command.steps, protocol::most_isolated_steps);
  return plan::window(launch.plan, 0, steps).measured / launch.plan.steps;
}

/// Begin and end of such repeats on this rank, each alone between barriers, on the clock of rank 0. `run_step` runs
/// one.
std::vector<protocol::RankReport::Interval> isolated_steps(int count, double clock_offset,
                                                           const std::function<exec::RankSpans()>& run_step) {
  std::vector<protocol::RankReport::Interval> steps;
  for (int i = 0; i < count; ++i) {
    const exec::RankSpans spans = run_step();
    double end = 0;
    for (const auto& lane : spans)
      for (const plan::Span& s : lane) end = std::max(end, s.end);
    steps.push_back({spans[plan::compute_lane].front().queued + clock_offset, end + clock_offset});
  }
  return steps;
}

/// From the first rank's begin to the last one's end, for each of a repeat's `steps`.
std::optional<results::StepTime> isolated_step_time(const std::vector<protocol::RankReport>& ranks, int steps) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < ranks.front().isolated.size(); ++i) {
    auto [begin, end] = ranks.front().isolated[i];
    for (const protocol::RankReport& rank : ranks) {
      begin = std::min(begin, rank.isolated.at(i).begin);
      end = std::max(end, rank.isolated.at(i).end);
    }
    seconds.push_back((end - begin) / steps);
  }
  if (seconds.empty()) return std::nullopt;
  return results::StepTime{.samples = {std::move(seconds)}};
}

/// What became of a worker's steps from `first` on.
results::WorkerSteps worker_steps(const plan::Plan& plan, const exec::Arrivals& arrivals, ReplicaId replica,
                                  int first) {
  results::WorkerSteps sums;
  for (int step = first; step < plan.steps; ++step) {
    for (const auto& server : arrivals.taken)
      sums.taken += std::ranges::find(server[step], replica) != server[step].end();
    sums.too_late += arrivals.too_late[replica.value][step];
  }
  const double steps = plan.steps - first, servers = static_cast<double>(arrivals.taken.size());
  return {sums.taken / (steps * servers), sums.too_late / steps};
}

/// Mean losses of the steps; who came too late for one has computed none.
std::vector<double> step_losses(const plan::Plan& plan, const std::vector<protocol::RankReport>& ranks,
                                const exec::Arrivals& arrivals) {
  std::vector<double> losses(plan.steps, 0.0);
  for (int step = 0; step < plan.steps; ++step) {
    for (const protocol::RankReport& rank : ranks) losses[step] += rank.losses.at(step);
    if (arrivals.empty()) continue;
    const auto late = std::ranges::count_if(arrivals.too_late, [step](const auto& worker) { return worker[step]; });
    losses[step] *= plan.replicas / static_cast<double>(plan.replicas - late);
  }
  return losses;
}

/// By which algorithm emulated ranks sum on paper, as analytic::over_link() has it: as if each were on a host of its
/// own. "" where their times are those that a processor takes for it.
std::string modelled_reduction(const Case& spec, const plan::Durations& durations) {
  const auto passes = [](const plan::Duration& duration) { return duration.on_link_s > 0; };
  const auto shares = [&](const auto& lane) { return std::ranges::any_of(lane, passes); };
  const auto given = [&](const auto& lanes) { return std::ranges::any_of(lanes, shares); };
  if (!std::ranges::any_of(durations, given)) return "";
  std::vector<int> hosts(spec.np);
  std::iota(hosts.begin(), hosts.end(), 0);
  return comm::reduction_text(spec.reduce == ReduceKind::library ? ReduceKind::ring : spec.reduce, hosts);
}

/// Rank 0's account of all reports. Collective; the other ranks' is empty.
results::Measured conclude(const Launch& launch, const plan::Plan& plan, comm::Communicator& comm,
                           const protocol::RankReport& mine, const exec::Arrivals& arrivals) {
  const std::vector<protocol::RankReport> reports = gather_reports(comm, mine);
  if (comm.rank() != Rank(0)) return {};

  const int warmup = plan::window(launch.plan, launch.command.warmup, launch.command.steps).discarded;
  const plan::Timeline timeline = timeline_of(reports);
  results::Measured measured;
  if (comm.size() > 1) {
    measured.reduction =
        is_emulated(plan.spec) ? modelled_reduction(plan.spec, launch.durations) : comm.capabilities().reduction;
    if (plan.spec.comm == CommKind::mpi) measured.mpi_settings = comm::mpi_settings();
  }
  for (const protocol::RankReport& report : reports) measured.ranks.push_back(report.measured);
  // Nobody sees into a graph's step. Where ranks share a GPU, an operation that waits for its multiprocessors looks as
  // one that takes longer, and one that waits for a message as a bubble that no other rank causes.
  const bool shared =
      std::ranges::any_of(reports, [](const protocol::RankReport& rank) { return rank.ranks_on_device > 1; });
  if (!plan.spec.graph && !shared) {
    const std::vector<Breakdown> parts = plan::breakdowns(plan, timeline, StepId(warmup));
    for (int r = 0; r < comm.size(); ++r) measured.ranks[r].breakdown_s = parts[r];
  }
  if (!is_emulated(plan.spec)) measured.losses = step_losses(plan, reports, arrivals);
  if (!arrivals.empty()) {
    for (int r = 0; r < plan::computing_ranks(plan); ++r)
      measured.ranks[r].steps = worker_steps(plan, arrivals, plan.ranks[r].holds.front().replica, warmup);
  }
  if (!is_emulated(plan.spec) && !shared) {
    const plan::Matching matching = plan::match(plan);
    const analytic::Sizes sizes(launch.model);
    for (int r = 0; r < comm.size(); ++r) {
      measured.ranks[r].bus_bandwidth_bytes_per_s =
          reduction_bandwidth(plan, matching, sizes, timeline, Rank(r), StepId(warmup));
    }
  }

  measured.step_time_s.samples = {plan::step_samples(plan, timeline, StepId(warmup))};
  measured.isolated_step_time_s = isolated_step_time(reports, launch.plan.steps);
  measured.warmup_steps = warmup;
  if (!plan.spec.graph) measured.timeline = plan::excerpt(plan, timeline, StepId(warmup));
  if (launch.command.trace) {
    write_atomically(protocol::trace_file(launch.command.reply),
                     plan::to_trace(plan, timeline, "measured rank").dump() + "\n");
  }
  return measured;
}

}  // namespace

results::Measured measure(const Launch& launch, comm::Communicator& comm, exec::Device& device,
                          const RankPlace& place) {
  CanaryWatch canary(launch.plan.spec, comm);
  const plan::Window window = plan::window(launch.plan, launch.command.warmup, launch.command.steps);
  const plan::Plan plan = plan::unroll(launch.plan, window.steps());
  exec::StageState state(plan, launch.model, comm, device);
  exec::RankInput input = exec::open_input(plan, comm.rank(), launch.source, launch.input, device);
  const double clock_offset = clock_offset_s(comm);
  comm.reset_traffic();
  if (!device.where().is_cpu()) exec::tune(plan, launch.model, state, device, comm.rank());
  const exec::Execution execution =
      exec::execute(plan, launch.model, state, comm, input, device, StepId(window.discarded));
  const comm::Traffic traffic = comm.traffic();
  const exec::Arrivals arrivals = exec::gather_arrivals(plan, execution, comm);
  // While memory of a device is looked at, nobody takes any there. Allocators keep what they took at their peak.
  comm.wait(comm.barrier());

  protocol::RankReport mine = report(comm.rank(), execution.spans, clock_offset, device.name());
  mine.losses = execution.losses;
  mine.measured.tasks = fired_tasks(plan, comm.rank(), execution.spans[plan::compute_lane], StepId(window.discarded));
  mine.ranks_on_device = place.ranks_on_device;
  results::RankMeasured& measured = mine.measured;
  measured.cpuset = place.cpuset;
  measured.peak_memory = {.category = device.account().peak().category,
                          .resident = resident_peak_bytes(),
                          .reserved = device.peak_reserved(),
                          .device_used = device.used()};
  measured.bytes_sent = traffic.sent / plan.steps;
  measured.bytes_received = traffic.received / plan.steps;
  comm.wait(comm.barrier());
  // Last, since it needs memory and traffic of its own.
  measured.arithmetic =
      exec::arithmetic_of(plan.spec, weight_type(state, plan::segments_held(plan, comm.rank())), device);
  const int isolated = isolated_count(launch);
  // One stream of pieces for all of them, so that none waits for its loader to start; after the one before it, since
  // both take memory of the device.
  input = {};
  if (isolated > 0) {
    input = exec::open_input(plan::unroll(launch.plan, isolated * launch.plan.steps), comm.rank(), launch.source,
                             launch.input, device);
  }
  mine.isolated = isolated_steps(isolated, clock_offset, [&] {
    return exec::execute(launch.plan, launch.model, state, comm, input, device, StepId(0)).spans;
  });
  const std::optional<Canary> told = canary.end();
  results::Measured all = conclude(launch, plan, comm, mine, arrivals);
  if (told) all.canaries = {*told};
  return all;
}

results::Measured measure_emulated(const Launch& launch, comm::Communicator& comm) {
  const int steps = plan::window(launch.plan, launch.command.warmup, launch.command.steps).steps();
  const plan::Plan plan = plan::unroll(launch.plan, steps);
  const exec::RankSpans spans =
      exec::emulate(plan, plan::unroll(launch.plan, launch.durations, steps), *launch.links, comm);
  protocol::RankReport mine = report(comm.rank(), spans, 0, "emulated");
  mine.isolated = isolated_steps(isolated_count(launch), 0,
                                 [&] { return exec::emulate(launch.plan, launch.durations, *launch.links, comm); });
  return conclude(launch, plan, comm, mine, {});
}

}  // namespace parabench::rank
