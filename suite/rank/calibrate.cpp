#include "suite/rank/calibrate.h"

#include <torch/types.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <map>
#include <optional>
#include <string>

#include "analytic/calibration/scope.h"
#include "base/case_text.h"
#include "parallelism/plan/routes.h"
#include "parallelism/plan/state/state_layout.h"
#include "suite/rank/layer_chain.h"
#include "suite/rank/transfers.h"

namespace parabench::rank {
namespace {

/// Of what workers and servers send each other, in bytes.
std::int64_t largest_bucket(const plan::Plan& plan, const plan::ParameterSizes& sizes) {
  const int element = plan::parameter_bytes(plan.spec.precision);
  std::int64_t largest = 0;
  for (const Rank server : plan.servers)
    for (const plan::Op& op : plan.ranks[server.value].compute()) {
      const plan::ElementRange run{0, plan::elements_of(plan, sizes, op.segment, op.segments, element)};
      const plan::Shard shard = plan::shard_of(plan, server, op);
      largest = std::max(largest, plan::shard_of(run, shard.index, shard.count, element).count * element);
    }
  return largest;
}

/// The largest buffer of norms, in bytes, which are summed where they lie: not in the communicator's memory.
std::int64_t largest_norms(const plan::Plan& plan, const models::ModelSpec& model) {
  const plan::ParameterSizes sizes(model);
  std::int64_t largest = 0;
  for (Rank rank; rank.value < std::ssize(plan.ranks); ++rank)
    largest = std::max(largest, plan::state_layout(plan, sizes, rank).bytes(plan::StateRole::norms));
  return largest;
}

// Layers: enough steps for a stable median, bounded in time for large models.
constexpr int chain_steps_min = 5, chain_steps_max = 20;
constexpr double chain_budget_s = 1.5;

/// Equal layers share their key: it keeps the mean over the chain's occurrences.
void keep(analytic::Calibration& calibration, const Launch& launch, const LayerChain& chain, int busy) {
  const Case& spec = launch.plan.spec;
  const std::vector<TensorSpec> in = models::boundaries(launch.model);
  std::map<analytic::LayerKey, std::vector<analytic::LayerTiming>> occurrences;
  for (std::size_t l = 0; l < chain.layers.size(); ++l)
    occurrences[analytic::layer_key(launch.model.layers[l], in[l], l == 0, spec, busy)].push_back(chain.layers[l]);
  for (const auto& [key, timings] : occurrences) {
    analytic::LayerTiming mean = timings.front();
    const auto average = [&](auto of) {
      double sum = 0;
      for (const analytic::LayerTiming& t : timings) sum += of(t);
      return sum / static_cast<double>(timings.size());
    };
    mean.forward_s = average([](const analytic::LayerTiming& t) { return t.forward_s; });
    mean.backward_s = average([](const analytic::LayerTiming& t) { return t.backward_s; });
    if (mean.split) {
      mean.split->input_s = average([](const analytic::LayerTiming& t) { return t.split->input_s; });
      mean.split->weight_s = average([](const analytic::LayerTiming& t) { return t.split->weight_s; });
    }
    calibration.layers[key].push_back(mean);
  }
  // Independent of the number of samples: the least disturbed chain counts.
  const double update_s = chain.update_s / static_cast<double>(models::parameter_count(launch.model));
  auto& updates = calibration.update_s_per_parameter[analytic::update_key(spec)];
  const auto [update, first] = updates.try_emplace(busy, update_s);
  if (!first) update->second = std::min(update->second, update_s);
  double& overhead = calibration.step_overhead_s[analytic::measured_device(spec)];
  overhead = overhead == 0 ? chain.overhead_s : std::min(overhead, chain.overhead_s);
}

/// The first of the rank's groups with so many members: all groups of a size reduce at once, as in a step.
std::optional<CommGroupId> group_of_size(const plan::Plan& plan, Rank rank, int members) {
  const std::map<plan::LaneKey, CommGroupId> groups = plan::collective_groups(plan).numbers;
  for (const plan::Lane& lane : plan.ranks[rank.value].lanes) {
    const auto found = groups.find(lane.key);
    if (found != groups.end() && std::ssize(plan.groups[lane.key.group.value].ranks) == members) return found->second;
  }
  return std::nullopt;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text.data();
}

/// The largest message of the plan: the biggest activation between two layers at the largest piece.
std::int64_t largest_message(const Launch& launch) {
  if (!launch.plan.servers.empty()) {
    const plan::ParameterSizes sizes(launch.model);
    return largest_bucket(launch.plan, sizes);
  }
  std::int64_t elements = 0;
  const std::vector<TensorSpec> all = models::boundaries(launch.model);
  for (std::size_t l = 1; l + 1 < all.size(); ++l) elements = std::max(elements, all[l].elements());
  return elements * launch.plan.pieces[0][0] * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

analytic::Calibration calibrate(const Launch& launch, comm::Communicator& comm, exec::Device& device,
                                const RankPlace& place) {
  const int busy = comm.size();
  const Case& spec = launch.plan.spec;
  const DeviceKind kind = analytic::measured_device(spec);
  const auto outside_allocator = [&] {
    comm.wait(comm.barrier());  // while it is looked at, nobody takes memory
    const std::int64_t bytes = device.outside_allocator();
    comm.wait(comm.barrier());
    return bytes;
  };
  const std::int64_t outside_before = outside_allocator();
  analytic::Calibration calibration;
  calibration.machine = launch.machine;
  const analytic::CalibrationScope scope = analytic::calibration_scope(launch.plan);
  for (int samples : scope.samples) {
    if (!device.where().is_cpu()) tune_layers(launch, device, samples);
    comm.wait(comm.barrier());
    // Alone on rank 0 first: it also says how many steps all ranks can afford together.
    int steps = chain_steps_min;
    if (comm.rank() == Rank(0)) {
      const auto at_once = [] {};
      const double step_s = time_layers(launch, device, samples, 1, at_once).step_s;
      steps = std::clamp(static_cast<int>(chain_budget_s / step_s), chain_steps_min, chain_steps_max);
      keep(calibration, launch, time_layers(launch, device, samples, steps, at_once), 1);
    }
    if (busy == 1) continue;
    steps = std::stoi(comm::all_gather(comm, std::to_string(steps))[0]);
    const auto together = [&] { comm.wait(comm.barrier()); };
    keep(calibration, launch, time_layers(launch, device, samples, steps, together), busy);
    comm.wait(comm.barrier());
  }
  const std::int64_t outside_chains = outside_allocator();
  const double alone = comm.rank() == Rank(0) ? copy_rate(device) : 0;
  comm.wait(comm.barrier());
  calibration.copy_bytes_per_s[kind][busy] = copy_rate(device);
  std::int64_t arena = 0;
  if (busy > 1) {
    if (comm.rank() == Rank(0)) calibration.copy_bytes_per_s[kind][1] = alone;
    const analytic::RankCountKey key{std::string(to_text(spec.comm)), busy, kind};
    if (!scope.group_sizes.empty()) {
      for (const auto& [role, largest] : plan::exchanged_arenas(launch.plan, launch.model))
        arena = std::max(arena, largest);
      // Servers that share what they update sum nothing else.
      const std::int64_t norms_bytes = arena > 0 ? 0 : largest_norms(launch.plan, launch.model);
      const torch::Tensor norms =
          torch::zeros({norms_bytes}, torch::TensorOptions(torch::kUInt8).device(device.where()));
      const comm::Arena buffer =
          norms_bytes > 0 ? comm::Arena{static_cast<std::byte*>(norms.data_ptr()), norms_bytes} : comm.allocate(arena);
      for (int members : scope.group_sizes) {
        calibration.all_reduce[analytic::reduction_key(spec, members)] =
            all_reduce_curve(comm, device, buffer, group_of_size(launch.plan, comm.rank(), members));
      }
    }
    if (scope.messages) calibration.point_to_point[key] = point_to_point_curve(comm, device, largest_message(launch));
  }
  if (!device.where().is_cpu()) {
    calibration.launch_floor_s = launch_floor(device);
    const std::int64_t outside_all = outside_allocator();
    // Of other processes on the GPU nobody can tell what is context, allocator and communicator.
    if (place.ranks_on_device == 1 || place.same_process) {
      // The chains load the modules of their kernels; what the communicators make, and on first use, is their own.
      calibration.context_bytes = device.context_bytes() + outside_chains - outside_before;
      const std::int64_t communicators = outside_before - device.context_bytes() + outside_all - outside_chains;
      if (busy > 1)
        calibration.communicator_bytes[std::string(to_text(spec.comm))] =
            std::max<std::int64_t>(0, communicators / place.ranks_on_device - arena);
    }
  }
  calibration.date = utc_now();
  return comm.rank() == Rank(0) ? calibration : analytic::Calibration{};
}

}  // namespace parabench::rank
