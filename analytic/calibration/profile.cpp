#include "analytic/calibration/profile.h"

#include <algorithm>

#include "analytic/costs/costs.h"
#include "analytic/costs/emulation.h"
#include "analytic/costs/layer_seconds.h"
#include "analytic/costs/spread_times.h"
#include "analytic/costs/sum_times.h"
#include "base/error.h"
#include "base/optimizer.h"
#include "base/sum_order.h"
#include "parallelism/plan/input_pieces.h"
#include "parallelism/plan/passes/passes.h"
#include "parallelism/plan/strategies/placement.h"
#include "parallelism/plan/strategies/stage_widths.h"
#include "parallelism/plan/strategies/strategies.h"

namespace parabench::analytic {
namespace {

plan::Op pass_of(plan::OpKind kind, SegmentId layer) {
  return plan::pass(kind, layer, MicroBatchId(0), StepId(0), VersionId(0));
}

/// Whether the schedule has backwards in two parts, however the model is cut.
bool splits_backwards(Case spec, const models::ModelSpec& model) {
  spec.partition = PartitionRule::uniform;
  spec.recompute = Recompute::none;
  spec.memory.reset();
  if (plan::plans_widths(spec)) spec.strategy.parameters.clear();
  return plan::uses(plan::make_plan(spec, model, {}, 1), plan::OpKind::backward_input);
}

/// What is kept of a piece in flight whose forward runs again.
std::int64_t kept_bytes(const plan::Plan& plan, const Sizes& sizes, SegmentId layer, bool split) {
  const plan::Op there = pass_of(plan::OpKind::forward, layer);
  const bool loads = layer == SegmentId(0) && plan.spec.input == InputKind::host;
  const std::int64_t images = loads ? sizes.image_bytes(plan, Rank(0), there) : 0;
  const std::int64_t weights = split ? sizes.kept_for_weights(plan, Rank(0), there) : 0;
  const bool alone = plan.spec.recompute == Recompute::automatic;
  return images + std::max(weights, alone ? sizes.output_bytes(plan, Rank(0), there) : 0);
}

/// What pieces take on a GPU all the time, on their way from the host or to stay.
std::int64_t held_input_bytes(const plan::Plan& plan, const Sizes& sizes) {
  if (plan.spec.device != DeviceKind::cuda) return 0;
  if (plan.spec.input == InputKind::resident)
    return sizes.image_bytes(plan.spec.precision, plan.spec.batch / plan.spec.dp);
  return plan::upload_slots * sizes.loaded_bytes(plan.pieces[0][0]);
}

/// Of a stage that has this layer and shares its gradients: in two buffers (plan::gradient_buffers) for buckets, which
/// a layer overfills, or all of them, of which the model's are the most.
std::int64_t whole_gradients(const plan::Plan& plan, const Sizes& sizes, std::int64_t layer_bytes) {
  const auto layers = static_cast<int>(plan.segments.size());
  return std::min(sizes.parameter_bytes(plan, SegmentId(0), layers),
                  plan::gradient_buffers * (plan.spec.bucket.value + layer_bytes));
}

plan::LayerSizes sizes_of(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory, SegmentId layer,
                          bool split) {
  const plan::Op there = pass_of(plan::OpKind::forward, layer);
  plan::LayerSizes bytes{.weights = sizes.parameter_bytes(plan, layer, 1),
                         .saved = memory.saved_bytes(plan, Rank(0), there),
                         .input = layer == SegmentId(0) ? 0 : sizes.input_bytes(plan, Rank(0), there),
                         .output = sizes.output_bytes(plan, Rank(0), there)};
  const int sharers = plan.spec.zero > 0 ? plan.spec.dp : 1;
  const std::int64_t states = state_count(optimizer_rule(plan.spec));
  const std::int64_t slack = sharers > 1 ? plan::slice_alignment_bytes : 0;  // shards are whole units of it
  const std::int64_t share = (bytes.weights + sharers - 1) / sharers + slack;
  bytes.states = states * share;
  if (plan.spec.zero == 2 && sharers > 1) {
    bytes.states += share;
    bytes.passing = whole_gradients(plan, sizes, bytes.weights);
  } else {
    bytes.states += bytes.weights;
  }
  // As if every skip came from another rank, and the gradients of what the layer makes waited for its backward.
  const int samples = plan.pieces[0][0];
  bytes.saved += sizes.taken_bytes(plan.spec.precision, layer.value) * samples;
  // The gradients that a backward starts are among the states.
  plan::Op back = pass_of(plan::OpKind::backward, layer);
  back.accumulates = true;
  bytes.passing += std::max(memory.peak_bytes(plan, Rank(0), there), memory.peak_bytes(plan, Rank(0), back)) +
                   2 * std::max(bytes.input, bytes.output) +
                   sizes.made_bytes(plan.spec.precision, layer.value) * samples;
  if (split) bytes.saved = std::max(bytes.saved, sizes.kept_for_weights(plan, Rank(0), there));
  if (layer == SegmentId(0)) bytes.states += held_input_bytes(plan, sizes);
  if (plan.spec.recompute != Recompute::none) {
    bytes.states += bytes.saved * (plan.spec.recompute == Recompute::except_last ? 2 : 1);
    bytes.saved = kept_bytes(plan, sizes, layer, split);
  }
  return bytes;
}

/// What `ask` is told by a model of times, or by the data sheet where it was never measured under the case's keys.
template <class Ask>
auto by_either(const TimeModel& time, const TimeModel& data_sheet, Ask ask) {
  try {
    return ask(time);
  } catch (const Error&) {
    return ask(data_sheet);
  }
}

/// Of a sum among all ranks, each of which holds the whole model.
plan::SumTimes sum_of_all(const TimeModel& time, const Sizes& sizes, const plan::Plan& layers) {
  if (layers.spec.np == 1) return {};
  std::vector<Rank> all;
  for (Rank r; r.value < layers.spec.np; ++r) all.push_back(r);
  return sum_times(time, sizes, layers, all);
}

/// Of sums among 2, 3, ... ranks, of many ranks only among powers of two and all. Any other number, and one that nobody
/// measured, is as the next smaller known one, or as the smallest; empty: nobody measured any.
std::vector<double> ring_rates(const TimeModel& time, const Sizes& sizes, const plan::Plan& layers) {
  constexpr int few = 64;
  const int all = layers.spec.np;
  std::vector<double> rates;
  std::vector<Rank> members = {Rank(0)};
  std::size_t unknown = 0;  // before the smallest known one
  for (int m = 2; m <= all; ++m) {
    members.emplace_back(m - 1);
    const bool asks = all <= few || m == all || (m & (m - 1)) == 0;
    const auto known = asks ? ring_bytes_per_s(time, sizes, layers, members) : std::nullopt;
    if (!known && rates.empty()) {
      ++unknown;
    } else {
      rates.push_back(known ? *known : rates.back());
    }
  }
  if (!rates.empty()) rates.insert(rates.begin(), unknown, rates.front());
  return rates;
}

}  // namespace

plan::Plan single_layers(const Case& spec, const models::ModelSpec& model, int samples, const Placement& placement) {
  plan::Plan plan{.spec = spec,
                  .segments = plan::single_layers(model),
                  .pieces = {{samples}},
                  .ranks = std::vector<plan::RankProgram>(1)};
  plan.ranks[0].holds = {{StageId(0), ReplicaId(0)}};
  plan.placement = placement;
  return plan;
}

plan::Profile make_profile(const Costs& costs, const Costs& otherwise, const Sizes& sizes, const Case& spec,
                           const Placement& placement) {
  const plan::Plan plan = single_layers(spec, sizes.model(), plan::largest_piece(spec), placement);
  const bool split = spec.partition == PartitionRule::memory && splits_backwards(spec, sizes.model());

  plan::Profile profile(layer_seconds(*costs.time, plan));
  for (SegmentId layer; layer.value < std::ssize(plan.segments); ++layer) {
    profile.sizes.push_back(sizes_of(plan, sizes, *costs.memory, layer, split));
  }
  profile.recompute = spec.recompute;
  if (spec.recompute != Recompute::none) profile.forward_seconds = layer_forward_seconds(*costs.time, plan);
  const auto ask = [&](auto question) { return by_either(*costs.time, *otherwise.time, question); };
  profile.adding_seconds = ask([&](const TimeModel& time) { return layer_adding_seconds(time, plan); });
  profile.update_seconds = ask([&](const TimeModel& time) { return layer_update_seconds(time, plan); });
  profile.link_bytes_per_s = ask([&](const TimeModel& time) { return time.link(plan).bytes_per_s; });
  if (plan::plans_widths(spec)) profile.ring_bytes_per_s = ring_rates(*costs.time, sizes, plan);
  if (sum_order(spec).kind == SumOrderKind::priority)
    profile.sum = ask([&](const TimeModel& time) { return sum_of_all(time, sizes, plan); });
  return profile;
}

plan::Profile make_profile(const Calibration* calibration, const MachineInfo& machine, const Sizes& sizes,
                           const Case& spec, const std::optional<Link>& link, const Placement& placement) {
  const Costs data_sheet = data_sheet_costs_of(spec, machine, sizes);
  const bool calibrated = calibration && has_layers(*calibration, sizes, spec, placement);
  Costs costs = calibrated ? calibrated_costs(*calibration, sizes) : data_sheet_costs_of(spec, machine, sizes);
  if (link) costs.time = over_link(std::move(costs.time), *link, sizes);
  return make_profile(costs, data_sheet, sizes, spec, placement);
}

}  // namespace parabench::analytic
