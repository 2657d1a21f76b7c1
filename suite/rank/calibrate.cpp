#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/case_text.h"
#include "base/statistics.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/executor.h"
#include "parallelism/plan/strategies.h"
#include "suite/rank/launch.h"
#include "suite/rank/transfers.h"

namespace parabench {
namespace {

// Layers: enough steps for a stable median, bounded in time for large models.
constexpr int chain_warmup = 2, chain_steps_min = 5, chain_steps_max = 20;
constexpr double chain_budget_s = 1.5;

/// Times of a whole model as one chain of one-layer segments on one rank, as the executor runs it.
struct Chain {
  std::vector<LayerTiming> layers;
  double update_s = 0, overhead_s = 0, step_s = 0;
};

Chain time_chain(const Launch& launch, Device& device, int samples, int steps) {
  Case spec = launch.plan.spec;
  spec.strategy = {"sequential", {}};
  spec.np = 1;
  spec.batch = samples;
  spec.comm = CommKind::threads;
  const Plan plan = unroll(make_plan(spec, launch.model, {}, 1), chain_warmup + steps);
  Chain chain;
  run_thread_ranks(1, [&](Communicator& alone) {
    StageState state(plan, launch.model, alone, device);
    PieceInput input(plan, pieces_of(plan, Rank(0)), launch.source, launch.options.input, true);
    const Execution execution = execute(plan, launch.model, state, alone, &input, device, chain_warmup);

    const auto& ops = plan.ranks[0].lane(Lane::compute);
    const auto& spans = execution.spans[static_cast<int>(Lane::compute)];
    std::vector<std::vector<double>> forward(launch.model.layers.size()), backward(forward.size());
    std::vector<double> update, gaps;
    chain.layers.resize(forward.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].step < chain_warmup) continue;
      const double seconds = spans[i].end - spans[i].start - spans[i].data_wait;
      const int layer = ops[i].segment.value;
      const OpMemory& memory = execution.memory[i];
      LayerTiming& timing = chain.layers[layer];
      gaps.push_back(spans[i].start - spans[i - 1].end);
      if (ops[i].kind == OpKind::forward) {
        forward[layer].push_back(seconds);
        timing.saved_bytes = memory.after - memory.before;
        timing.forward_peak_bytes = memory.peak - memory.before;
      } else if (ops[i].kind == OpKind::backward) {
        backward[layer].push_back(seconds);
        timing.backward_peak_bytes = memory.peak - memory.before;
      } else {
        update.push_back(seconds);
      }
    }
    for (std::size_t l = 0; l < forward.size(); ++l) {
      chain.layers[l].samples = samples;
      chain.layers[l].forward_s = median(forward[l]);
      chain.layers[l].backward_s = median(backward[l]);
      chain.layers[l].forward_mad_s = mad(forward[l]);
      chain.layers[l].backward_mad_s = mad(backward[l]);
    }
    chain.update_s = median(update);
    chain.overhead_s = median(gaps);
    chain.step_s = (spans.back().end - spans.front().start) / plan.steps;
  });
  return chain;
}

/// The piece sizes of the plan and half the largest, so that times interpolate.
std::vector<int> sample_counts(const Plan& plan) {
  std::set<int> counts;
  for (const auto& replica : plan.pieces) counts.insert(replica.begin(), replica.end());
  counts.insert(std::max(2, *counts.rbegin() / 2));
  return {counts.begin(), counts.end()};
}

/// Equal layers share their key: it keeps the mean over the chain's occurrences.
void keep(Calibration& calibration, const Launch& launch, const Chain& chain, int busy) {
  const Case& spec = launch.plan.spec;
  const std::vector<Shape> in = shapes(launch.model);
  std::map<LayerKey, std::vector<LayerTiming>> occurrences;
  for (std::size_t l = 0; l < chain.layers.size(); ++l)
    occurrences[layer_key(launch.model.layers[l], in[l], l == 0, spec, busy)].push_back(chain.layers[l]);
  for (const auto& [key, timings] : occurrences) {
    LayerTiming mean = timings.front();
    mean.forward_s = mean.backward_s = 0;
    for (const LayerTiming& t : timings) {
      mean.forward_s += t.forward_s / static_cast<double>(timings.size());
      mean.backward_s += t.backward_s / static_cast<double>(timings.size());
    }
    calibration.layers[key].push_back(mean);
  }
  // Independent of the number of samples: the least disturbed chain counts.
  const double update_s = chain.update_s / static_cast<double>(parameter_count(launch.model));
  const auto [update, first] = calibration.update_s_per_parameter[measured_device(spec)].try_emplace(busy, update_s);
  if (!first) update->second = std::min(update->second, update_s);
  double& overhead = calibration.step_overhead_s[measured_device(spec)];
  overhead = overhead == 0 ? chain.overhead_s : std::min(overhead, chain.overhead_s);
}

bool uses(const Plan& plan, OpKind kind) {
  for (const RankProgram& rank : plan.ranks)
    for (const auto& lane : rank.lanes)
      if (std::any_of(lane.begin(), lane.end(), [&](const Op& op) { return op.kind == kind; })) return true;
  return false;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text.data();
}

/// The largest message of the plan: the biggest activation between two layers at the largest piece.
std::int64_t largest_message(const Launch& launch) {
  std::int64_t elements = 0;
  const std::vector<Shape> all = shapes(launch.model);
  for (std::size_t l = 1; l + 1 < all.size(); ++l) elements = std::max(elements, all[l].elements());
  return elements * launch.plan.pieces[0][0] * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

nlohmann::json calibrate(const Launch& launch, Communicator& comm, Device& device) {
  const int busy = comm.size();
  const Case& spec = launch.plan.spec;
  const DeviceKind kind = measured_device(spec);
  const std::int64_t outside_before = device.outside_allocator();
  Calibration calibration;
  calibration.machine = launch.machine;
  for (int samples : sample_counts(launch.plan)) {
    // Alone on rank 0 first: it also says how many steps all ranks can afford together.
    int steps = chain_steps_min;
    if (comm.rank() == Rank(0)) {
      const double step_s = time_chain(launch, device, samples, 1).step_s;
      steps = std::clamp(static_cast<int>(chain_budget_s / step_s), chain_steps_min, chain_steps_max);
      keep(calibration, launch, time_chain(launch, device, samples, steps), 1);
    }
    if (busy == 1) continue;
    steps = nlohmann::json::parse(all_gather(comm, nlohmann::json(steps).dump())[0]).get<int>();
    comm.wait(comm.barrier());
    keep(calibration, launch, time_chain(launch, device, samples, steps), busy);
    comm.wait(comm.barrier());
  }
  const std::int64_t outside_chains = device.outside_allocator();
  const double alone = comm.rank() == Rank(0) ? copy_rate(device) : 0;
  comm.wait(comm.barrier());
  calibration.copy_bytes_per_s[kind][busy] = copy_rate(device);
  std::int64_t arena = 0;
  if (busy > 1) {
    if (comm.rank() == Rank(0)) calibration.copy_bytes_per_s[kind][1] = alone;
    const RankCountKey key{std::string(to_text(spec.comm)), busy, kind};
    if (uses(launch.plan, OpKind::all_reduce)) {
      arena = arena_bytes(launch.plan, launch.model, Rank(0));
      calibration.all_reduce[key] = all_reduce_curve(comm, device, arena);
    }
    if (uses(launch.plan, OpKind::send_forward))
      calibration.point_to_point[key] = point_to_point_curve(comm, device, largest_message(launch));
  }
  if (!device.where().is_cpu()) {
    calibration.launch_floor_s = launch_floor(device);
    // The chains load the modules of their kernels; what the communicator makes, and on first use, is its own.
    calibration.context_bytes = device.context_bytes() + outside_chains - outside_before;
    if (busy > 1)
      calibration.communicator_bytes[std::string(to_text(spec.comm))] =
          outside_before - device.context_bytes() + device.outside_allocator() - outside_chains - arena;
  }
  calibration.date = utc_now();
  if (comm.rank() != Rank(0)) return {};
  return {{"calibration", to_json(calibration)}};
}

}  // namespace parabench
