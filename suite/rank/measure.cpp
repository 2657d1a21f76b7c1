#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "parallelism/exec/executor.h"
#include "parallelism/plan/print.h"
#include "results/record.h"
#include "suite/rank/clock.h"
#include "suite/rank/launch.h"
#include "suite/rank/reply.h"

namespace parabench {
namespace {

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
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

void read_spans(const nlohmann::json& json, std::array<std::vector<Span>, lane_count>& lanes) {
  for (int lane = 0; lane < lane_count; ++lane)
    for (const auto& s : json[lane]) lanes[lane].push_back({s[0], s[1], s[2], s[3]});
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
  return measured;
}

}  // namespace

nlohmann::json measure(const Launch& launch, Communicator& comm, Device& device, const std::string& cpuset) {
  const int warmup = launch.options.warmup;
  const Plan plan = unroll(launch.plan, warmup + launch.options.steps);
  StageState state(plan, launch.model, comm, device);
  std::unique_ptr<PieceInput> input;
  if (auto pieces = pieces_of(plan, comm.rank()); !pieces.empty())
    input = std::make_unique<PieceInput>(plan, std::move(pieces), launch.source, launch.options.input,
                                         holds_first(plan, comm.rank()));
  const double clock_offset = clock_offset_s(comm);
  comm.reset_traffic();
  const Execution execution = execute(plan, launch.model, state, comm, input.get(), device, warmup);
  const Traffic traffic = comm.traffic();

  const auto reports = all_gather(comm, report(execution, clock_offset, device, traffic, plan.steps, cpuset).dump());
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
  for (std::size_t r = 0; r < ranks.size(); ++r)
    measured.ranks.push_back(rank_measured(ranks[r], static_cast<int>(r), plan, timeline, warmup));

  const std::vector<double> completions = step_completions(plan, timeline);
  std::vector<double> samples;
  for (int step = warmup; step < plan.steps; ++step)
    samples.push_back(completions[step] - (step == 0 ? timeline.origin : completions[step - 1]));
  measured.step_time_s.samples = {samples};
  summarise(measured.step_time_s);
  measured.warmup_steps = warmup;
  measured.throughput_samples_per_s = batch_samples(plan) / measured.step_time_s.median;
  measured.achieved_flops_per_s =
      training_flops(launch.model).value * batch_samples(plan) / measured.step_time_s.median;
  if (launch.options.trace)
    write_atomically(launch.options.reply_folder + "/trace.json", to_trace(plan, timeline).dump() + "\n");
  return {{"measured", to_json(measured)}};
}

}  // namespace parabench
