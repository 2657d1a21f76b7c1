#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "parallelism/exec/arithmetic.h"
#include "parallelism/exec/executor.h"
#include "parallelism/plan/print.h"
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

/// What one rank reports to rank 0.
nlohmann::json report(const Execution& execution, double clock_offset, const Device& device, const Traffic& traffic,
                      int steps, const std::string& cpuset) {
  nlohmann::json spans = nlohmann::json::array();
  for (const auto& lane : execution.spans) {
    nlohmann::json list = nlohmann::json::array();
    for (const Span& s : lane)
      list.push_back({s.queued + clock_offset, s.start + clock_offset, s.end + clock_offset, s.data_wait});
    spans.push_back(std::move(list));
  }
  return {{"spans", std::move(spans)},
          {"losses", execution.losses},
          {"memory", device.account().peak().category},
          {"resident", peak_resident_bytes()},
          {"reserved", device.peak_reserved()},
          {"device_used", device.peak_reserved() + device.outside_allocator()},
          {"sent", traffic.sent / steps},
          {"received", traffic.received / steps},
          {"host", host_name()},
          {"cpuset", cpuset},
          {"device", device.name()}};
}

void read_spans(const nlohmann::json& json, std::vector<std::vector<Span>>& lanes) {
  for (const auto& list : json) {
    auto& lane = lanes.emplace_back();
    for (const auto& s : list) lane.push_back({s[0], s[1], s[2], s[3]});
  }
}

RankMeasured rank_measured(const nlohmann::json& json, int rank, const Plan& plan, const Timeline& timeline,
                           int warmup) {
  RankMeasured measured;
  measured.rank = rank;
  measured.host = json["host"];
  measured.device = json["device"];
  measured.cpuset = json["cpuset"];
  measured.peak_memory.category = json["memory"];
  measured.peak_memory.resident = json["resident"];
  measured.peak_memory.reserved = json["reserved"];
  measured.peak_memory.device_used = json["device_used"];
  measured.breakdown_s = breakdown(plan, timeline, Rank(rank), warmup);
  measured.bytes_sent = json["sent"];
  measured.bytes_received = json["received"];
  measured.arithmetic = arithmetic_from_json(json["arithmetic"]);
  return measured;
}

/// Begin and end of steps on this rank, each alone between barriers, on the clock of rank 0; none where steps of the
/// plan have no end of their own, or no other rank.
nlohmann::json isolated_steps(const Launch& launch, StageState& state, Communicator& comm, Device& device,
                              double clock_offset) {
  nlohmann::json steps = nlohmann::json::array();
  if (launch.plan.asynchronous || comm.size() == 1) return steps;
  const int count = std::min(launch.options.steps, most_isolated_steps);
  // One stream of pieces for all of them, so that none waits for its loader to start.
  RankInput input = open_input(unroll(launch.plan, count), comm.rank(), launch.source, launch.options.input);
  for (int i = 0; i < count; ++i) {
    const Execution execution = execute(launch.plan, launch.model, state, comm, input, device, 0);
    double end = 0;
    for (const auto& lane : execution.spans)
      for (const Span& s : lane) end = std::max(end, s.end);
    steps.push_back({execution.spans[compute_lane].front().queued + clock_offset, end + clock_offset});
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

}  // namespace

nlohmann::json measure(const Launch& launch, Communicator& comm, Device& device, const std::string& cpuset) {
  const int warmup = launch.options.warmup;
  const Plan plan = unroll(launch.plan, warmup + launch.options.steps);
  StageState state(plan, launch.model, comm, device);
  RankInput input = open_input(plan, comm.rank(), launch.source, launch.options.input);
  const double clock_offset = clock_offset_s(comm);
  comm.reset_traffic();
  const Execution execution = execute(plan, launch.model, state, comm, input, device, warmup);
  const Traffic traffic = comm.traffic();

  nlohmann::json mine = report(execution, clock_offset, device, traffic, plan.steps, cpuset);
  // Afterwards, since it needs memory and traffic of its own.
  mine["arithmetic"] = to_json(arithmetic_of(plan.spec, weight_type(state, segments_held(plan, comm.rank())), device));
  mine["isolated"] = isolated_steps(launch, state, comm, device, clock_offset);
  const auto reports = all_gather(comm, mine.dump());
  if (comm.rank() != Rank(0)) return {};

  Timeline timeline;
  Measured measured;
  measured.losses.assign(plan.steps, 0.0);
  std::vector<nlohmann::json> ranks;
  for (const std::string& text : reports) {
    ranks.push_back(nlohmann::json::parse(text));
    read_spans(ranks.back()["spans"], timeline.ranks.emplace_back());
    for (int step = 0; step < plan.steps; ++step) measured.losses[step] += ranks.back()["losses"][step].get<double>();
    const double entered = timeline.ranks.back()[0].front().queued;
    timeline.origin = timeline.ranks.size() == 1 ? entered : std::min(timeline.origin, entered);
  }
  const Matching matching = match(plan);
  const Sizes sizes(launch.model);
  for (int r = 0; r < comm.size(); ++r) {
    measured.ranks.push_back(rank_measured(ranks[r], r, plan, timeline, warmup));
    measured.ranks.back().bus_bandwidth_bytes_per_s =
        reduction_bandwidth(plan, matching, sizes, timeline, Rank(r), warmup);
  }

  const std::vector<double> completions = step_completions(plan, timeline);
  std::vector<double> samples;
  for (int step = warmup; step < plan.steps; ++step)
    samples.push_back(completions[step] - (step == 0 ? timeline.origin : completions[step - 1]));
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

}  // namespace parabench
