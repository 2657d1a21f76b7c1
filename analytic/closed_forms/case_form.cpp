#include "analytic/closed_forms/case_form.h"

#include <algorithm>
#include <cmath>

#include "analytic/calibration/profile.h"
#include "analytic/closed_forms/closed_forms.h"
#include "analytic/costs/sum_times.h"
#include "analytic/costs/update_words.h"
#include "base/error.h"
#include "base/optimizer.h"
#include "parallelism/plan/partition/partition.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/strategies/c10d.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "parallelism/plan/strategies/local_sgd.h"
#include "parallelism/plan/strategies/parameter_server.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "parallelism/plan/strategies/strategies.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::analytic {
namespace {

LayerForm& operator+=(LayerForm& sum, const LayerForm& layer) {
  sum.forward += layer.forward;
  sum.backward += layer.backward;
  sum.input += layer.input;
  sum.weight += layer.weight;
  sum.update += layer.update;
  sum.adding += layer.adding;
  sum.parameters += layer.parameters;
  sum.saved += layer.saved;
  sum.entry = std::max(sum.entry, layer.entry);
  return sum;
}

double passes(const LayerForm& of) { return of.forward + of.backward; }

/// What it takes to move so many words of each parameter.
double moving(double words, const LayerForm& of) { return words / adding_words * of.adding; }
double copying(const Case& spec, const LayerForm& of) { return moving(copied_words(spec), of); }

/// What it takes in a step beside the backwards to add the gradients of so many, and, where ranks sum, to move them to
/// the buckets.
double gradient_moves(const Case& spec, const LayerForm& of, double additions, bool sums) {
  return additions * of.adding + (sums ? copying(spec, of) : 0);
}

/// Weights, gradients and the optimizer's states, of which each rank has whole ones and a share of the rest.
double state_bytes(const Case& spec, double parameters, double sharers, bool shares_weights) {
  const double states = state_count(optimizer_rule(spec));
  const double whole = shares_weights ? 0 : 2;
  return parameters * (whole + (2 - whole + states) / sharers);
}

/// The device on which each stage of a copy lies.
int device_of(int stage, int devices, plan::StageOrder order) {
  if (order == plan::StageOrder::folded) return stage < devices ? stage : 2 * devices - 1 - stage;
  return stage % devices;
}

/// What each device of a pipeline holds of the model, cut by time as plan::cut_model() does.
std::vector<LayerForm> devices_of(const Case& spec, const plan::Strategy& strategy, std::span<const LayerForm> layers,
                                  const plan::Pipe& pipe) {
  const int devices = pipe.devices;
  const bool crossed = strategy.schedule.stages == plan::StageOrder::crossed;
  const int pieces = pipe.micro_batches / (crossed ? 2 : 1);
  const int sharers = spec.zero > 0 ? spec.dp : 1;
  plan::Profile profile;
  profile.recompute = spec.recompute;
  for (const LayerForm& layer : layers) {
    profile.seconds.push_back(passes(layer));
    profile.forward_seconds.push_back(layer.forward);
    profile.adding_seconds.push_back(layer.adding);
    profile.update_seconds.push_back(layer.update / sharers);
  }
  const std::vector<double> seconds = profile.seconds_per_piece(pieces);
  // Stages that ranks share are planned later: as if each rank had one.
  const int stages =
      plan::plans_widths(spec) ? std::min(devices, static_cast<int>(layers.size())) : strategy.stages(spec);
  const std::vector<int> cut = plan::min_max_partition(seconds, stages);
  std::vector<LayerForm> on(devices);
  auto layer = layers.begin();
  for (int stage = 0; stage < std::ssize(cut); ++stage) {
    LayerForm sum;
    for (int i = 0; i < cut[stage]; ++i) sum += *layer++;
    const int device = device_of(stage, devices, strategy.schedule.stages);
    if (crossed) {
      // Each of the two pipelines has half of the micro-batches, and all of its states.
      LayerForm half = sum;
      for (double* part : {&half.forward, &half.backward, &half.input, &half.weight, &half.adding}) *part /= 2;
      half.saved /= 2;
      on[device] += half;
      on[devices - 1 - device] += half;
    } else {
      on[device] += sum;
    }
  }
  return on;
}

double pipeline_makespan(const plan::Strategy& strategy, const plan::Pipe& pipe, const LayerForm& slow) {
  const plan::PassTimes times{slow.forward, slow.backward, slow.input, slow.weight};
  if (strategy.makespan.of) {
    if (const auto known = strategy.makespan.of(pipe, times)) return *known;
  }
  return passes(slow) * (pipe.micro_batches + static_cast<double>(pipe.devices - 1) / pipe.chunks);
}

/// PipeDream's with one stage on all ranks, which take mini-batches by turns, sum once for all, and wait for the sum.
CaseForm shared_stage_form(const Case& spec, const LayerForm& whole, const plan::SumTimes& sums) {
  const bool again = plan::repeated_pieces(spec.recompute, 1) > 0;
  const auto bytes = static_cast<double>(whole.parameters);
  const double own =
      passes(whole) + (again ? whole.forward : 0) + gradient_moves(spec, whole, 0, spec.np > 1) + whole.update;
  const auto activations = static_cast<double>(whole.saved + (again ? whole.entry : 0));
  return {.step_time_s = (own + sums.seconds(bytes)) / spec.np,
          .peak_bytes = state_bytes(spec, bytes, 1, false) + activations};
}

CaseForm pipeline_form(const Case& spec, const plan::Strategy& strategy, const LayerForms& forms,
                       const plan::SumTimes& sums) {
  const plan::Pipe pipe = strategy.pipe(spec);
  const bool again = spec.recompute != Recompute::none;
  const int spared = spec.recompute == Recompute::except_last ? 1 : 0;  // micro-batches that do not run again
  const bool drains = strategy.family != plan::Family::asynchronous_pipeline;
  const bool crossed = strategy.schedule.stages == plan::StageOrder::crossed;
  const int sharers = spec.zero > 0 ? spec.dp * (crossed ? 2 : 1) : 1;
  std::vector<LayerForm> devices = devices_of(spec, strategy, forms.layers, pipe);
  const auto in_flight_on = [&](int device) {
    return strategy.schedule.in_flight ? strategy.schedule.in_flight(pipe, device) : double(pipe.devices - device);
  };
  const std::vector<plan::VersionRule> rules = plan::delay_rules(spec, std::vector<int>(pipe.devices, 1));
  const auto older_versions = [&](int device) { return drains ? 0 : rules[device].lag; };
  for (int p = 0; p < pipe.devices; ++p)
    if (older_versions(p) > 0) devices[p].update += moving(version_words(spec), devices[p]);
  // Each of two pipelines that cross has half of the micro-batches, a first and a last one of its own, and all weights,
  // which both sum.
  const int ways = crossed ? 2 : 1;
  const bool sums_stages = spec.dp * ways > 1;
  const int repeated = ways * plan::repeated_pieces(spec.recompute, pipe.micro_batches / ways);
  const auto work = [&](const LayerForm& device) {
    const double moves =
        ways * gradient_moves(spec, device, static_cast<double>(pipe.micro_batches) / ways - 1, sums_stages);
    return pipe.micro_batches * passes(device) + repeated * device.forward + moves + device.update / sharers;
  };
  const LayerForm& slow = *std::ranges::max_element(devices, {}, work);
  double worked = 0;  // by a device in the mean
  for (const LayerForm& device : devices) worked += work(device) / pipe.devices;
  const double waited = drains ? pipeline_makespan(strategy, pipe, slow) - pipe.micro_batches * passes(slow) : 0;
  CaseForm form;
  form.step_time_s = std::max(forms.own_cores_ratio * (work(slow) + waited), worked);
  double summing = 0;
  for (int p = 0; p < pipe.devices; ++p) {
    const LayerForm& device = devices[p];
    const auto bytes = static_cast<double>(device.parameters);
    if (sums_stages) summing = std::max(summing, sums.seconds(bytes));
    const auto piece = static_cast<double>(again ? device.entry : device.saved) / pipe.chunks;
    form.peak_bytes = std::max(form.peak_bytes, state_bytes(spec, bytes, sharers, false) + older_versions(p) * bytes +
                                                    in_flight_on(p) * piece +
                                                    (again ? (1 + spared) * static_cast<double>(device.saved) : 0));
  }
  form.step_time_s += summing;
  if (!plan::plans_widths(spec)) return form;
  LayerForm whole;
  for (const LayerForm& layer : forms.layers) whole += layer;
  return std::min(form, shared_stage_form(spec, whole, sums),
                  [](const CaseForm& one, const CaseForm& other) { return one.step_time_s < other.step_time_s; });
}

CaseForm copies_form(const Case& spec, const plan::Strategy& strategy, const LayerForms& forms,
                     const plan::SumTimes& sum_times) {
  LayerForm whole;
  double entries = 0, largest = 0, with_parameters = 0;
  for (const LayerForm& layer : forms.layers) {
    whole += layer;
    entries += static_cast<double>(layer.entry);
    largest = std::max(largest, static_cast<double>(layer.parameters));
    with_parameters += layer.parameters > 0;
  }
  const bool again = spec.recompute != Recompute::none;
  const plan::Serving by = plan::serving(spec);
  const int copies = std::max(1, spec.np - by.servers);
  const bool shares = strategy.uses("shard"), gathers = strategy.uses("prefetch");
  const auto bytes = static_cast<double>(whole.parameters);
  const int every = plan::averaging(spec).every;
  const double backward =
      whole.backward + (again ? whole.forward : 0) + gradient_moves(spec, whole, 0, spec.np > 1 && every == 0);
  const double out_of_buckets = plan::sums_by_reducer(spec) ? copying(spec, whole) : 0;
  const double update = (whole.update + out_of_buckets) / (shares ? copies : 1);
  const double own = whole.forward + backward + update;
  // Each bucket pays the latency of its own sum; it holds a layer at least.
  const double buckets =
      std::clamp(std::ceil(bytes / static_cast<double>(spec.bucket.value)), 1.0, std::max(1.0, with_parameters));
  const double last = copies > 1 ? sum_times.seconds(bytes / buckets) : 0;
  const double sums = buckets * last;
  CaseForm form;
  if (by.servers > 0) {
    form.step_time_s =
        parameter_server_step(own, copies, bytes, bytes / by.servers, std::max(forms.link.bytes_per_s, 1.0));
  } else if (every > 0) {
    const double averages = copies > 1 ? moving(averaged_words, whole) : 0;
    form.step_time_s = local_step(own, sums + averages, every);
  } else if (gathers) {
    // Before whole weights come, a rank copies its own share to where they will lie.
    const bool copied = copies > 1 && spec.reshard && !is_emulated(spec);
    const double gather = sums / 2 + (copied ? copying(spec, whole) / copies : 0);
    form.step_time_s = fully_sharded_step(whole.forward, backward, update, gather, spec.reshard ? gather : 0, sums / 2);
  } else if (shares) {
    // What was updated is gathered at once, with no backward to hide behind.
    const double gather = copies > 1 ? sum_times.seconds(bytes) / 2 : 0;
    form.step_time_s = overlapped_step(own, backward, sums / 2, last / 2) + gather;
  } else {
    form.step_time_s = overlapped_step(own, backward, sums, last);
  }
  const double activations = again ? entries : static_cast<double>(whole.saved);
  // Of weights of a run of layers and of those gathered ahead, and of gradients on their way to their shares.
  const double run = std::max(largest, std::min(bytes, static_cast<double>(spec.bucket.value)));
  const auto room = [&](int runs) { return gathers && copies > 1 ? std::min(runs * run, bytes) : 0; };
  const double rooms = room(1 + spec.prefetch) + room(plan::gradient_buffers);
  form.peak_bytes = state_bytes(spec, bytes, shares ? copies : 1, gathers) + rooms + activations;
  return form;
}

}  // namespace

LayerForms layer_forms(const Case& spec, const Sizes& sizes, const Costs& costs, int samples,
                       const Placement& placement) {
  plan::Plan plan = single_layers(spec, sizes.model(), samples, placement);
  LayerForms forms{.layers = {}, .link = costs.time->link(plan)};
  plan.spec.strategy = {"sequential", {}};  // others' updates do more
  const auto seconds_of = [&](const plan::Op& op, int busy) { return costs.time->seconds(plan, Rank(0), op, busy); };
  const auto seconds = [&](const plan::Op& op) { return seconds_of(op, spec.np); };
  const auto pass = [](plan::OpKind kind, SegmentId layer) {
    return plan::pass(kind, layer, MicroBatchId(0), StepId(0), VersionId(0));
  };
  if (spec.device == DeviceKind::cuda) {
    const DeviceOverhead beside = costs.memory->device_overhead(plan);
    forms.device_bytes = beside.context_bytes + beside.communicator_bytes + beside.matrix_workspace_bytes;
  }
  const int cores = costs.time->cores();
  const int few = cores > 0 ? std::clamp(cores / threads_of_operation(spec), 1, spec.np) : spec.np;
  double shared = 0, apart = 0;
  for (SegmentId layer; layer.value < std::ssize(plan.segments); ++layer) {
    const plan::Op there = pass(plan::OpKind::forward, layer);
    const plan::Op back = pass(plan::OpKind::backward, layer);
    const double backward = seconds(back);
    plan::Op adding = back;
    adding.accumulates = true;
    forms.layers.push_back({.forward = seconds(there),
                            .backward = backward,
                            .input = seconds(pass(plan::OpKind::backward_input, layer)),
                            .weight = seconds(pass(plan::OpKind::backward_weight, layer)),
                            .update = seconds(plan::update(layer, 1, StepId(0), VersionId(0))),
                            .adding = seconds(adding) - backward,
                            .parameters = sizes.parameter_bytes(plan, layer, 1),
                            .saved = costs.memory->saved_bytes(plan, Rank(0), there),
                            .entry = sizes.input_bytes(plan, Rank(0), there)});
    shared += forms.layers.back().forward;
    apart += seconds_of(there, few);
  }
  if (shared > 0) forms.own_cores_ratio = apart / shared;
  return forms;
}

std::vector<Rank> summing_ranks(const Case& spec) {
  const plan::Strategy& strategy = plan::find_strategy(spec.strategy.name);
  const bool in_stages = strategy.ranks == plan::RankUse::stages;
  if (plan::plans_widths(spec)) {
    std::vector<Rank> all;
    for (Rank rank; rank.value < spec.np; ++rank) all.push_back(rank);
    return all;
  }
  const int copies = in_stages ? spec.dp : spec.np - plan::serving(spec).servers;
  std::vector<Rank> ranks;
  const int devices = spec.np / spec.dp;
  for (int copy = 0; copy < copies; ++copy) {
    ranks.emplace_back(in_stages ? copy * devices : copy);
    if (strategy.schedule.stages == plan::StageOrder::crossed) ranks.emplace_back((copy + 1) * devices - 1);
  }
  return ranks;
}

plan::SumTimes sums_of(const Case& spec, const Sizes& sizes, const Costs& costs, const Placement& placement) {
  const std::vector<Rank> ranks = summing_ranks(spec);
  if (ranks.size() < 2) return {};
  const plan::Plan layers = single_layers(spec, sizes.model(), plan::largest_piece(spec), placement);
  try {
    return sum_times(*costs.time, sizes, layers, ranks);
  } catch (const Error& error) {
    if (error.code() != ExitCode::environment) throw;
  }
  const auto members = static_cast<int>(ranks.size());
  const std::int64_t bytes = sizes.parameter_bytes(layers, SegmentId(0), static_cast<int>(layers.segments.size()));
  const bool around = spec.comm == CommKind::nccl;  // which chooses by itself
  const ReduceKind by =
      around ? ReduceKind::ring : algorithm_of(spec.reduce, group_shape(placement, ranks), /*whole=*/true, bytes);
  const Link link = costs.time->link(layers);
  const double latency = all_reduce_by(by, members, 0, link);
  const double transfer = all_reduce_by(by, members, static_cast<double>(bytes), link) - latency;
  return {latency, transfer > 0 ? static_cast<double>(bytes) / transfer : 0};
}

CaseForm case_form(const Case& spec, const LayerForms& forms, const plan::SumTimes& sums) {
  const plan::Strategy& strategy = plan::find_strategy(spec.strategy.name);
  CaseForm form = strategy.ranks == plan::RankUse::stages ? pipeline_form(spec, strategy, forms, sums)
                                                          : copies_form(spec, strategy, forms, sums);
  form.peak_bytes += static_cast<double>(forms.device_bytes);
  return form;
}

}  // namespace parabench::analytic
