#include "suite/rank/calibration_blocks.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "analytic/calibration/calibration_json.h"
#include "analytic/calibration/scope.h"
#include "analytic/memory/sizes.h"
#include "base/statistics.h"
#include "parallelism/comm/gather.h"
#include "parallelism/plan/routes.h"
#include "parallelism/plan/state/state_layout.h"

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

/// The largest buffer that ranks sum where it lies, in bytes: norms, and the buckets of a reducer.
std::int64_t largest_sum(const plan::Plan& plan, const models::ModelSpec& model) {
  const analytic::Sizes sizes(model);
  std::int64_t largest = 0;
  for (Rank rank; rank.value < std::ssize(plan.ranks); ++rank)
    for (const plan::Lane& lane : plan.ranks[rank.value].lanes) {
      if (lane.key.kind != plan::LaneKind::collectives) continue;
      for (const plan::Op& op : lane.ops) largest = std::max(largest, sizes.payload_bytes(plan, rank, op));
    }
  return largest;
}

/// Equal segments share their key: it keeps the mean over the chain's occurrences.
void keep(analytic::Calibration& calibration, const Launch& launch, const LayerChain& chain, int busy) {
  const Case& spec = launch.plan.spec;
  const std::vector<TensorSpec> in = models::boundaries(launch.model);
  std::vector<std::string> signatures;
  for (std::size_t l = 0; l < launch.model.layers.size(); ++l)
    signatures.push_back(models::signature(launch.model.layers[l], in[l]));
  std::map<analytic::LayerKey, std::vector<analytic::LayerTiming>> occurrences;
  for (std::size_t s = 0; s < chain.segments.size(); ++s) {
    const plan::Segment& segment = chain.segments[s];
    const auto layers = std::span(signatures).subspan(segment.first_layer, segment.layers);
    const std::string signature = analytic::segment_signature(layers);
    occurrences[analytic::layer_key(signature, segment.first_layer == 0, spec, busy)].push_back(chain.timings[s]);
  }
  for (const auto& [key, timings] : occurrences) {
    analytic::LayerTiming mean = timings.front();
    const auto average = [&](const auto& of) {
      double sum = 0;
      for (const analytic::LayerTiming& t : timings) sum += of(t);
      return sum / static_cast<double>(timings.size());
    };
    for (const auto seconds : pass_seconds)
      mean.*seconds = average([&](const analytic::LayerTiming& t) { return t.*seconds; });
    if (mean.split) {
      for (const auto seconds : half_seconds)
        (*mean.split).*seconds = average([&](const analytic::LayerTiming& t) { return (*t.split).*seconds; });
    }
    calibration.layers[key].push_back(mean);
  }
}

/// The group of a shape in which the rank reduces while that is timed. On one host all groups of the shape reduce at
/// once, as in a step. Of groups between hosts one does: when several meet on the hosts' links is for simulate() to
/// say.
std::optional<TimedGroup> group_of_shape(const plan::Plan& plan, Rank rank, const GroupShape& shape) {
  for (const auto& [key, number] : plan::collective_groups(plan).numbers) {
    const std::vector<Rank>& members = plan.groups[key.group.value].ranks;
    if (group_shape(plan.placement, members) != shape) continue;
    const bool reduces = std::ranges::find(members, rank) != members.end();
    if (reduces) return TimedGroup{number, shape.ranks};
    if (shape.hosts > 1) return std::nullopt;
  }
  return std::nullopt;
}

/// What `from` says, on rank 0. Collective.
void hand_to_root(comm::Communicator& comm, Rank from, analytic::Calibration& calibration) {
  if (from == Rank(0)) return;
  const std::string own = comm.rank() == from ? analytic::to_json(calibration).dump() : "";
  const std::vector<std::string> said = comm::gather_to_root(comm, own);
  if (comm.rank() == Rank(0))
    calibration = analytic::calibration_from_json(nlohmann::json::parse(said[from.value]), "a rank's calibration");
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

StepSideBySide step_side_by_side(comm::Communicator& comm, std::span<const double> steps_s) {
  std::vector<std::vector<double>> of_step(steps_s.size());
  for (const std::string& text : comm::all_gather(comm, nlohmann::json(steps_s).dump())) {
    const auto of_rank = nlohmann::json::parse(text).get<std::vector<double>>();
    for (std::size_t i = 0; i < of_step.size(); ++i) of_step[i].push_back(of_rank[i]);
  }
  std::vector<double> means, above;
  for (const std::vector<double>& ranks : of_step) {
    means.push_back(mean(ranks));
    above.push_back(std::ranges::max(ranks) - means.back());
  }
  return {median(means), median(above) / normal_scores(comm.size()).back()};
}

void time_chains(const Launch& launch, comm::Communicator& comm, exec::Device& device, LayerChains& chains,
                 const std::vector<int>& samples, const ChainEffort& effort, double slowdown,
                 analytic::Calibration& calibration) {
  const Rank teller = first_on_fullest_host(launch.plan.placement);
  const int busy = ranks_beside(launch.plan.placement, teller, comm.size());
  const bool alone_anyway = busy == 1 && comm.size() > 1;
  const bool measures_adding = effort.measures_bytes && analytic::calibration_scope(launch.plan).adds_gradients;
  // Independent of the number of samples.
  std::map<int, std::vector<double>> updates_s;
  std::vector<double> overheads_s;
  const auto take = [&](const LayerChain& chain, int ranks) {
    keep(calibration, launch, chain, ranks);
    updates_s[ranks].push_back(chain.update_s / static_cast<double>(models::parameter_count(launch.model)));
    overheads_s.push_back(chain.overhead_s);
  };
  for (const int count : samples) {
    if (!device.where().is_cpu()) tune_layers(launch, device, count);
    comm.wait(comm.barrier());
    // Alone first: it also says how many steps all ranks can afford together.
    int steps = effort.least_steps;
    if (comm.rank() == teller) {
      const auto at_once = [] {};
      if (effort.least_steps < effort.most_steps) {
        const double step_s = chains.time(count, {.timed = 1, .discarded = effort.discarded_steps}, at_once).step_s;
        steps = std::clamp(static_cast<int>(effort.budget_s / step_s), effort.least_steps, effort.most_steps);
      }
      if (!alone_anyway) {
        LayerChain chain = chains.time(count, {steps, effort.discarded_steps}, at_once);
        if (measures_adding) chains.measure_adding(chain, count);
        take(chain, 1);
      }
    }
    if (comm.size() == 1) continue;
    steps = std::stoi(comm::all_gather(comm, std::to_string(steps))[teller.value]);
    const auto together = [&] { comm.wait(comm.barrier()); };
    LayerChain chain = chains.time(count, {steps, effort.discarded_steps}, together);
    const StepSideBySide step = step_side_by_side(comm, chain.steps_s);
    if (busy > 1 && !launch.plan.spec.graph) {
      stretch(chain, step.mean_s / median(chain.steps_s));
      deviate(chain, step.deviation_s);
    }
    if (alone_anyway && measures_adding) chains.measure_adding(chain, count);
    take(chain, busy);
    comm.wait(comm.barrier());
  }
  analytic::RatesByBusy& updates = calibration.update_s_per_parameter[analytic::update_key(launch.plan.spec)];
  for (const auto& [ranks, seconds] : updates_s) updates[ranks] = mean(seconds);
  if (busy > 1 && device.where().is_cpu()) updates[busy] = updates[1] * slowdown;
  if (!overheads_s.empty())
    calibration.step_overhead_s[analytic::measured_device(launch.plan.spec)] = median(overheads_s);
  hand_to_root(comm, teller, calibration);
}

double slowdown_of_updates(const Launch& launch, comm::Communicator& comm, exec::Device& device,
                           const TransferEffort& effort) {
  const Rank teller = first_on_fullest_host(launch.plan.placement);
  std::vector<Rank> host;
  for (Rank rank; rank.value < comm.size(); ++rank)
    if (on_one_host(launch.plan.placement, rank, teller)) host.push_back(rank);
  if (host.size() == 1 || !device.where().is_cpu()) return 1;
  return update_slowdown(comm, device, launch.plan.spec, host, models::parameter_count(launch.model),
                         effort.while_nobody_computes);
}

void time_copies(const Launch& launch, comm::Communicator& comm, exec::Device& device,
                 analytic::Calibration& calibration) {
  if (device.where().is_cpu()) return;
  auto& rates = calibration.copy_bytes_per_s[analytic::measured_device(launch.plan.spec)];
  if (comm.rank() == Rank(0)) rates[1] = copy_rate(device);
  comm.wait(comm.barrier());
  if (comm.size() > 1) rates[ranks_beside(launch.plan.placement, Rank(0), comm.size())] = copy_rate(device);
}

ReductionBuffer reduction_buffer(const Launch& launch, comm::Communicator& comm, const exec::Device& device) {
  if (comm.size() == 1 || analytic::calibration_scope(launch.plan).groups.empty()) return {};
  std::int64_t bytes = 0;
  for (const auto& [role, largest] : plan::exchanged_arenas(launch.plan, launch.model))
    bytes = std::max(bytes, largest);
  if (bytes > 0) return {comm.allocate(bytes), {}};
  bytes = largest_sum(launch.plan, launch.model);
  const torch::Tensor own = torch::zeros({bytes}, torch::TensorOptions(torch::kUInt8).device(device.where()));
  return {{static_cast<std::byte*>(own.data_ptr()), bytes}, own};
}

void time_exchanges(const Launch& launch, comm::Communicator& comm, exec::Device& device, const ReductionBuffer& buffer,
                    analytic::ExchangesOf whose, const TransferEffort& effort, analytic::Calibration& calibration) {
  constexpr std::int64_t smallest_reduction = 4096, smallest_message = 1024;
  if (comm.size() == 1) return;
  const plan::Plan& plan = launch.plan;
  const analytic::CalibrationScope scope = analytic::calibration_scope(plan);
  const analytic::Sizes sizes(launch.model);
  const auto curve_of = [&](plan::OpKind collective, comm::CollectiveKind kind, const GroupShape& shape) {
    const std::vector<std::int64_t> timed = analytic::timed_sizes(
        whose, smallest_reduction, buffer.arena.bytes, analytic::collective_sizes(plan, sizes, collective, shape));
    return collective_curve(comm, device, buffer.arena, kind, group_of_shape(plan, comm.rank(), shape), timed, effort);
  };
  for (const GroupShape& shape : scope.groups)
    calibration.all_reduce[analytic::reduction_key(plan.spec, shape)] =
        curve_of(plan::OpKind::all_reduce, comm::CollectiveKind::all_reduce, shape);
  for (const auto& [collective, shape] : scope.shares) {
    const bool scatters = collective == plan::OpKind::reduce_scatter;
    (calibration.*analytic::share_curves(collective))[analytic::reduction_key(plan.spec, shape)] =
        curve_of(collective, scatters ? comm::CollectiveKind::reduce_scatter : comm::CollectiveKind::all_gather, shape);
  }
  for (const analytic::MessagePair& pair : scope.messages) {
    const std::vector<std::int64_t> own = analytic::message_sizes(plan, sizes, pair.between_hosts);
    // A plan that sends next to nothing still has a message to price.
    const std::int64_t largest = std::max({std::int64_t{64}, largest_message(launch), own.empty() ? 0 : own.back()});
    const std::vector<std::int64_t> timed = analytic::timed_sizes(whose, smallest_message, largest, own);
    calibration.point_to_point[analytic::message_key(plan.spec, pair.between_hosts)] =
        point_to_point_curve(comm, device, pair, timed, effort);
  }
}

}  // namespace parabench::rank
