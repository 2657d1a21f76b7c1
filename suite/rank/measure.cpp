#include <sys/resource.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "parallelism/exec/arithmetic.h"
#include "parallelism/exec/emulation.h"
#include "parallelism/exec/executor.h"
#include "parallelism/exec/tuning.h"
#include "parallelism/plan/formats/print.h"
#include "results/record.h"
#include "suite/rank/clock.h"
#include "suite/rank/launch.h"
#include "suite/rank/reductions.h"
#include "suite/rank/reply.h"

namespace parabench {
namespace {

constexpr int most_isolated_steps = 10;

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

/// Type of the rank's weights; nullopt where its stage has none.
std::optional<torch::ScalarType> weight_type(const StageState& state, const std::vector<SegmentId>& held) {
  for (SegmentId s : held)
    for (const LayerTensors& layer : state.tensors(s, 0))
      if (!layer.parameters.empty()) return layer.parameters.front().scalar_type();
  return std::nullopt;
}

/// What one rank reports to rank 0 in any case; to be completed by what it measured besides.
nlohmann::json report(const RankSpans& all_spans, double clock_offset, const std::string& device) {
  nlohmann::json spans = nlohmann::json::array();
  for (const auto& lane : all_spans) {
    nlohmann::json list = nlohmann::json::array();
    for (const Span& s : lane)
      list.push_back({s.queued + clock_offset, s.start + clock_offset, s.end + clock_offset, s.data_wait});
    spans.push_back(std::move(list));
  }
  return {{"spans", std::move(spans)}, {"host", host_name()}, {"device", device}};
}

void read_spans(const nlohmann::json& json, std::vector<std::vector<Span>>& lanes) {
  for (const auto& list : json) {
    auto& lane = lanes.emplace_back();
    for (const auto& s : list) lane.push_back({s[0], s[1], s[2], s[3]});
  }
}

RankMeasured rank_measured(const nlohmann::json& json, int rank) {
  RankMeasured measured;
  measured.rank = rank;
  measured.host = json["host"];
  measured.device = json["device"];
  if (!json.contains("memory")) return measured;
  measured.cpuset = json["cpuset"];
  measured.peak_memory.category = json["memory"];
  measured.peak_memory.resident = json["resident"];
  measured.peak_memory.reserved = json["reserved"];
  measured.peak_memory.device_used = json["device_used"];
  measured.bytes_sent = json["sent"];
  measured.bytes_received = json["received"];
  measured.arithmetic = arithmetic_from_json(json["arithmetic"]);
  return measured;
}

/// Steps to run alone; none where steps of the plan have no end of their own, or no other rank.
int isolated_count(const Launch& launch) {
  if (launch.plan.asynchronous || launch.plan.spec.np == 1) return 0;
  return std::min(launch.options.steps, most_isolated_steps);
}

/// Begin and end of steps on this rank, each alone between barriers, on the clock of rank 0. `run_step` runs one.
nlohmann::json isolated_steps(int count, double clock_offset, const std::function<RankSpans()>& run_step) {
  nlohmann::json steps = nlohmann::json::array();
  for (int i = 0; i < count; ++i) {
    const RankSpans spans = run_step();
    double end = 0;
    for (const auto& lane : spans)
      for (const Span& s : lane) end = std::max(end, s.end);
    steps.push_back({spans[compute_lane].front().queued + clock_offset, end + clock_offset});
  }
  return steps;
}

/// From the first rank's begin to the last one's end.
std::optional<StepTime> isolated_step_time(const std::vector<nlohmann::json>& ranks) {
  const std::size_t count = ranks.front()["isolated"].size();
  if (count == 0) return std::nullopt;
  std::vector<double> seconds;
  for (std::size_t i = 0; i < count; ++i) {
    double begin = ranks.front()["isolated"][i][0], end = ranks.front()["isolated"][i][1];
    for (const nlohmann::json& rank : ranks) {
      begin = std::min(begin, rank["isolated"][i][0].get<double>());
      end = std::max(end, rank["isolated"][i][1].get<double>());
    }
    seconds.push_back(end - begin);
  }
  StepTime time;
  time.samples = {seconds};
  summarise(time);
  return time;
}

/// Rank 0's account of all reports. Collective; the other ranks' is empty.
nlohmann::json conclude(const Launch& launch, const Plan& plan, Communicator& comm, const nlohmann::json& mine) {
  const auto reports = all_gather(comm, mine.dump());
  if (comm.rank() != Rank(0)) return {};

  const int warmup = discarded_steps(launch.plan.spec, launch.options.warmup);
  Timeline timeline{.origin = std::numeric_limits<double>::infinity()};
  Measured measured;
  std::vector<nlohmann::json> ranks;
  for (const std::string& text : reports) {
    ranks.push_back(nlohmann::json::parse(text));
    read_spans(ranks.back()["spans"], timeline.ranks.emplace_back());
    // Where a stage's replicas take mini-batches in turn, a short window may leave none for a rank.
    const auto& computed = timeline.ranks.back()[compute_lane];
    if (!computed.empty()) timeline.origin = std::min(timeline.origin, computed.front().queued);
  }
  for (int r = 0; r < comm.size(); ++r) measured.ranks.push_back(rank_measured(ranks[r], r));
  // Nobody sees into a graph's step. Where ranks share a GPU, an operation that waits for its multiprocessors looks as
  // one that takes longer, and one that waits for a message as a bubble that no other rank causes.
  const bool shared = std::ranges::any_of(ranks, [](const nlohmann::json& rank) {
    return rank.contains("ranks_on_device") && rank["ranks_on_device"] > 1;
  });
  if (!plan.spec.graph && !shared) {
    const std::vector<Breakdown> parts = breakdowns(plan, timeline, warmup);
    for (int r = 0; r < comm.size(); ++r) measured.ranks[r].breakdown_s = parts[r];
  }
  if (!is_emulated(plan.spec)) {
    measured.losses.assign(plan.steps, 0.0);
    for (const nlohmann::json& rank : ranks)
      for (int step = 0; step < plan.steps; ++step) measured.losses[step] += rank["losses"][step].get<double>();
  }
  if (!is_emulated(plan.spec) && !shared) {
    const Matching matching = match(plan);
    const Sizes sizes(launch.model);
    for (int r = 0; r < comm.size(); ++r) {
      measured.ranks[r].bus_bandwidth_bytes_per_s =
          reduction_bandwidth(plan, matching, sizes, timeline, Rank(r), warmup);
    }
  }

  std::vector<double> samples = step_durations(plan, timeline);
  samples.erase(samples.begin(), samples.begin() + warmup);
  measured.step_time_s.samples = {samples};
  summarise(measured.step_time_s);
  measured.isolated_step_time_s = isolated_step_time(ranks);
  measured.warmup_steps = warmup;
  measured.throughput_samples_per_s = batch_samples(plan) / measured.step_time_s.median;
  measured.achieved_flops_per_s =
      training_flops(launch.model).value * batch_samples(plan) / measured.step_time_s.median;
  if (launch.options.trace)
    write_atomically(launch.options.reply_folder + "/trace.json", to_trace(plan, timeline).dump() + "\n");
  return {{"measured", to_json(measured)}};
}

}  // namespace

nlohmann::json measure(const Launch& launch, Communicator& comm, Device& device, const RankPlace& place) {
  const int warmup = discarded_steps(launch.plan.spec, launch.options.warmup);
  const Plan plan = unroll(launch.plan, warmup + launch.options.steps);
  StageState state(plan, launch.model, comm, device);
  RankInput input = open_input(plan, comm.rank(), launch.source, launch.options.input, device);
  const double clock_offset = clock_offset_s(comm);
  comm.reset_traffic();
  if (!device.where().is_cpu()) tune(plan, launch.model, state, device, comm.rank());
  const Execution execution = execute(plan, launch.model, state, comm, input, device, warmup);
  const Traffic traffic = comm.traffic();
  // While memory of a device is looked at, nobody takes any there. Allocators keep what they took at their peak.
  comm.wait(comm.barrier());

  nlohmann::json mine = report(execution.spans, clock_offset, device.name());
  mine.update({{"losses", execution.losses},
               {"memory", device.account().peak().category},
               {"resident", peak_resident_bytes()},
               {"reserved", device.peak_reserved()},
               {"device_used", device.used()},
               {"sent", traffic.sent / plan.steps},
               {"received", traffic.received / plan.steps},
               {"cpuset", place.cpuset},
               {"ranks_on_device", place.ranks_on_device}});
  comm.wait(comm.barrier());
  // Last, since it needs memory and traffic of its own.
  mine["arithmetic"] = to_json(arithmetic_of(plan.spec, weight_type(state, segments_held(plan, comm.rank())), device));
  const int isolated = isolated_count(launch);
  // One stream of pieces for all of them, so that none waits for its loader to start; after the one before it, since
  // both take memory of the device.
  input = {};
  if (isolated > 0) {
    input = open_input(unroll(launch.plan, isolated), comm.rank(), launch.source, launch.options.input, device);
  }
  mine["isolated"] = isolated_steps(
      isolated, clock_offset, [&] { return execute(launch.plan, launch.model, state, comm, input, device, 0).spans; });
  return conclude(launch, plan, comm, mine);
}

nlohmann::json measure_emulated(const Launch& launch, Communicator& comm) {
  const int steps = launch.options.warmup + launch.options.steps;
  const Plan plan = unroll(launch.plan, steps);
  const RankSpans spans = emulate(plan, unroll(launch.plan, launch.durations, steps), comm);
  nlohmann::json mine = report(spans, 0, "emulated");
  mine["isolated"] =
      isolated_steps(isolated_count(launch), 0, [&] { return emulate(launch.plan, launch.durations, comm); });
  return conclude(launch, plan, comm, mine);
}

}  // namespace parabench
