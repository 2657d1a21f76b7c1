// Small models, plans and hand-made costs for tests of the analytic half.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "analytic/costs/memory_model.h"
#include "analytic/costs/time_model.h"
#include "parallelism/plan/strategies/strategies.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "parallelism/plan/timeline.h"
#include "tests/base/case_of.h"

namespace parabench::analytic {

/// Layers of the same shape: a 1x1 convolution of 4 channels on 2x2 maps and a ReLU; 16 parameters (64 bytes) each.
inline models::ModelSpec chain(int layers) {
  models::ModelSpec model{.name = "chain", .input = {4, 2, 2}, .classes = 4, .layers = {}};
  for (int i = 0; i < layers; ++i) {
    std::string name = "l";
    name += std::to_string(i);  // one expression trips g++ 12's -Wrestrict (GCC 105651)
    model.layers.push_back(
        models::chain(name, {{name + ".conv", models::Conv2d{.in = 4, .out = 4}}, {name + ".relu", models::Relu{}}}));
  }
  return model;
}

/// The same with the weights of the first and the last layer as one tensor.
inline models::ModelSpec tied_chain(int layers) {
  models::ModelSpec model = chain(layers);
  model.tie = {.original = {.layer = 0}, .copy = {.layer = layers - 1}};
  return model;
}

/// The plan of a case on a chain of `layers` layers of equal time.
inline plan::Plan test_plan(const Case& spec, int layers, int steps = 1) {
  return plan::make_plan(spec, chain(layers), std::vector<double>(layers, 1.0), steps);
}
/// A synchronous pipeline over `devices` ranks: one layer per stage, one sample per micro-batch. `chunks`: stages per
/// device, for the strategies that leave it open.
inline plan::Plan pipeline(const std::string& strategy, int devices, int micro_batches, int chunks = 2,
                           Recompute recompute = Recompute::none) {
  Case spec = case_of(strategy, devices, micro_batches, micro_batches);
  spec.chunks = plan::find_strategy(strategy).uses("chunks") ? chunks : spec.chunks;
  spec.recompute = recompute;
  return test_plan(spec, plan::find_strategy(strategy).stages(spec));
}
inline plan::Plan gpipe(int stages, int micro_batches) { return pipeline("gpipe", stages, micro_batches); }
inline plan::Plan pipedream(int stages, int mini_batches) {
  return test_plan(case_of("pipedream", stages, 1), stages, mini_batches);
}
/// One layer and one bucket per segment.
inline plan::Plan data_parallel(int ranks, int layers) {
  Case spec = case_of("data-parallel", ranks, ranks);
  spec.bucket = Bytes(1);
  return test_plan(spec, layers);
}

/// Names of the schedules of synchronous pipelines that serve so many devices and micro-batches.
inline std::vector<std::string> schedules_serving(int devices, int micro_batches) {
  std::vector<std::string> names;
  for (const plan::Strategy& strategy : plan::strategies()) {
    const Case spec = case_of(std::string(strategy.name), devices, micro_batches, micro_batches);
    const bool serves = !strategy.refuse || !strategy.refuse(strategy.pipe(spec));
    if (strategy.schedule.order && strategy.uses("micro") && serves) names.emplace_back(strategy.name);
  }
  return names;
}
/// Of the schedules with split backwards, the plainest first.
inline std::vector<std::string> split_schedules() {
  std::vector<std::string> names;
  for (const plan::Strategy& strategy : plan::strategies())
    if (strategy.splits_backwards()) names.emplace_back(strategy.name);
  return names;
}

/// Times by a function of rank, operation and busy ranks; constant bytes.
class HandCosts final : public TimeModel, public MemoryModel {
 public:
  using Seconds = std::function<double(Rank, const plan::Op&, int)>;
  explicit HandCosts(Seconds seconds, int cores = 0) : seconds_(std::move(seconds)), cores_(cores) {}

  TimeParts parts(const plan::Plan&, Rank rank, const plan::Op& op, int busy) const override {
    return {.compute = seconds_(rank, op, busy)};
  }
  std::int64_t saved_bytes(const plan::Plan&, Rank, const plan::Op&) const override { return saved; }
  std::int64_t peak_bytes(const plan::Plan&, Rank, const plan::Op& op) const override {
    return op.kind == plan::OpKind::forward ? forward_peak : backward_peak;
  }
  DeviceOverhead device_overhead(const plan::Plan&) const override { return overhead; }
  std::int64_t process_bytes(const plan::Plan&) const override { return process; }
  int cores() const override { return cores_; }
  std::string source() const override { return "unit"; }

  DeviceOverhead overhead;
  std::int64_t process = 0;
  std::int64_t saved = 0, forward_peak = 0, backward_peak = 0;

 private:
  Seconds seconds_;
  int cores_;
};

/// Seconds of a kind of operation, the same on every rank.
struct KindSeconds {
  double forward = 1, backward = 2, input = 1, weight = 1, recompute = 1, message = 0, all_reduce = 0, update = 0;
  double operator()(Rank, const plan::Op& op, int) const {
    switch (op.kind) {
      case plan::OpKind::forward: return forward;
      case plan::OpKind::backward: return backward;
      case plan::OpKind::backward_input: return input;
      case plan::OpKind::backward_weight: return weight;
      case plan::OpKind::recompute: return recompute;
      case plan::OpKind::all_reduce:
      case plan::OpKind::reduce_scatter:
      case plan::OpKind::all_gather:
      case plan::OpKind::broadcast: return all_reduce;
      case plan::OpKind::norms:
      case plan::OpKind::update:
      case plan::OpKind::add:
      case plan::OpKind::average:
      case plan::OpKind::encode:
      case plan::OpKind::project:
      case plan::OpKind::decode: return update;
      case plan::OpKind::send:
      case plan::OpKind::receive: return message;
    }
    return 0;
  }
};

/// The rank's only lane of such a kind that moves this.
inline int lane_of(const plan::Plan& plan, int rank, plan::LaneKind kind, plan::Payload payload) {
  const auto& lanes = plan.ranks[rank].lanes;
  const auto found = std::ranges::find_if(
      lanes, [&](const plan::Lane& lane) { return lane.key.kind == kind && lane.key.purpose == payload; });
  return static_cast<int>(found - lanes.begin());
}
inline const std::vector<plan::Span>& spans(const plan::Plan& plan, const plan::Timeline& timeline, int rank,
                                            plan::LaneKind kind, plan::Payload payload) {
  return timeline.ranks[rank][lane_of(plan, rank, kind, payload)];
}
inline std::vector<plan::Op>& ops(plan::Plan& plan, int rank, plan::LaneKind kind, plan::Payload payload) {
  return plan.ranks[rank].lanes[lane_of(plan, rank, kind, payload)].ops;
}

}  // namespace parabench::analytic
