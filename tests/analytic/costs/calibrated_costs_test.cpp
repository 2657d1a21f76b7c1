// Costs from measurements, and which of them they need.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytic/closed_forms/second_opinion.h"
#include "analytic/costs/costs.h"
#include "analytic/costs/curve_times.h"
#include "analytic/costs/gpu_sheet.h"
#include "analytic/costs/layer_seconds.h"
#include "analytic/memory/sizes.h"
#include "base/error.h"
#include "base/optimizer.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr MicroBatchId m0{0};

/// Two layers measured at 2 and 4 samples, alone and with two busy ranks.
Calibration measured(const models::ModelSpec& model) {
  Calibration c;
  c.machine.cores = 2;
  for (int l = 0; l < static_cast<int>(model.layers.size()); ++l) {
    for (const int busy : {1, 3}) {
      const double f = (l == 0 ? 10.0 : 20.0) * busy;
      c.layers[layer_key(model.layers[l], model.input, l == 0, {}, busy)] = {
          {.samples = 2, .forward_s = f, .backward_s = 2 * f, .forward_mad_s = .1, .backward_mad_s = .2},
          {.samples = 4, .forward_s = 1.5 * f, .backward_s = 3 * f, .forward_mad_s = .1, .backward_mad_s = .2}};
    }
  }
  c.all_reduce[{"mpi", 2}] = {{0, 1}, {128, 3}};
  c.point_to_point[{"mpi", 2}] = {{0, 1}, {256, 5}};
  c.update_s_per_parameter = {{{DeviceKind::cpu, "sgd"}, {{1, 1}, {2, 3}}}};
  c.step_overhead_s[DeviceKind::cpu] = .5;
  return c;
}

std::string error_of(const TimeModel& time, const plan::Plan& plan, const plan::Op& op, int busy) {
  try {
    time.seconds(plan, Rank(0), op, busy);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::environment);
    return e.what();
  }
  return "no error";
}

TEST(CalibratedCosts, SumLayersOfTheSegmentAndTheOverhead) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  const Costs cost = calibrated_costs(known, model);
  const plan::Plan whole = test_plan(case_of("model-parallel", 1, 4), 2);  // both layers in one segment
  EXPECT_DOUBLE_EQ(cost.time->seconds(whole, Rank(0), plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)), 1),
                   15 + 30 + .5);
  EXPECT_DOUBLE_EQ(cost.time->seconds(whole, Rank(0), plan::backward(SegmentId(0), m0, StepId(0), VersionId(0)), 1),
                   30 + 60 + .5);
  EXPECT_DOUBLE_EQ(cost.time->deviation_s(whole, Rank(0), plan::backward(SegmentId(0), m0, StepId(0), VersionId(0)), 1),
                   .4);
}

TEST(CalibratedCosts, InterpolateInSamplesAndBusyRanks) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  const Costs cost = calibrated_costs(known, model);
  const plan::Plan plan = test_plan(case_of("sequential", 1, 3), 2);
  const plan::Op first = plan::forward(SegmentId(0), m0, StepId(0), VersionId(0));
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), first, 1), 12.5 + .5);
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), first, 2), 25 + .5);
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), first, 3), 37.5 + .5);
}

TEST(CalibratedCosts, UpdatesAreThoseOfTheOptimizer) {
  const models::ModelSpec model = chain(2);
  plan::Plan plan = test_plan(case_of("sequential", 1, 4), 2);
  const plan::Op update_one = plan::update(SegmentId(0), 1, StepId(0), VersionId(1));
  Calibration calibration = measured(model);
  const double sgd = calibrated_costs(calibration, model).time->seconds(plan, Rank(0), update_one, 1) - .5;
  plan.spec.optimizer = {"adam", {{"beta2", "0.95"}}};
  const Costs without = calibrated_costs(calibration, model);
  EXPECT_THAT(error_of(*without.time, plan, update_one, 1), HasSubstr("optimizer:adam"));
  EXPECT_NO_THROW(without.time->seconds(plan, Rank(0), plan::backward(SegmentId(0), m0, StepId(0), VersionId(0)), 1))
      << "moves no gradients";
  calibration.update_s_per_parameter[{DeviceKind::cpu, "adam"}] = {{1, 2.5}};
  EXPECT_DOUBLE_EQ(calibrated_costs(calibration, model).time->seconds(plan, Rank(0), update_one, 1), 2.5 * sgd + .5);
}

TEST(CalibratedCosts, UpdatesBehindPyTorchsReducerCopyOutOfItsBuckets) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  const Costs cost = calibrated_costs(known, model);
  const plan::Op update_all = plan::update(SegmentId(0), 2, StepId(0), VersionId(1));
  const auto seconds = [&](const std::string& strategy) {
    return cost.time->seconds(test_plan(case_of(strategy, 2, 4), 2), Rank(0), update_all, 2) - .5;
  };
  const double words = find_optimizer("sgd").words;
  EXPECT_DOUBLE_EQ(seconds("c10d"), (words + 2) / words * seconds("data-parallel"));
  const plan::Plan alone = test_plan(case_of("c10d", 1, 4), 2), sequential = test_plan(case_of("sequential", 1, 4), 2);
  EXPECT_EQ(cost.time->seconds(alone, Rank(0), update_all, 1), cost.time->seconds(sequential, Rank(0), update_all, 1));
}

TEST(CalibratedCosts, UpdatesAreThoseOfTheThreadsAndOfTheBytesOfAParameter) {
  const models::ModelSpec model = chain(2);
  plan::Plan plan = test_plan(case_of("sequential", 1, 4), 2);
  const plan::Op update = plan::update(SegmentId(0), 1, StepId(0), VersionId(1));
  Calibration known = measured(model);
  known.update_s_per_parameter[{DeviceKind::cpu, "sgd", 1, 8}] = {{1, 7}};
  const Costs cost = calibrated_costs(known, model);
  const double fp32 = cost.time->seconds(plan, Rank(0), update, 1) - .5;
  plan.spec.precision = Precision::tf32;
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), update, 1), fp32 + .5) << "as wide as fp32";
  plan.spec.precision = Precision::fp64;
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), update, 1), 7 * fp32 + .5);
  plan.spec.threads = 2;
  EXPECT_THAT(error_of(*cost.time, plan, update, 1), HasSubstr("optimizer:sgd, threads:2, 8 bytes a parameter"));
}

TEST(CalibratedCosts, MessagesReductionsAndUpdates) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  const Costs cost = calibrated_costs(known, model);
  const plan::Plan pipe = test_plan(case_of("gpipe", 2, 4, 2), 2);  // messages of 2 samples: 128 bytes
  EXPECT_DOUBLE_EQ(cost.time->seconds(pipe, Rank(0), plan::send_forward(SegmentId(0), m0, StepId(0), Rank(1)), 2), 3);
  EXPECT_DOUBLE_EQ(cost.time->seconds(pipe, Rank(1), plan::recv_forward(SegmentId(1), m0, StepId(0), Rank(0)), 2), 3);
  EXPECT_DOUBLE_EQ(cost.time->link(pipe).latency_s, 1);
  EXPECT_DOUBLE_EQ(cost.time->link(pipe).bytes_per_s, 64);
  const plan::Plan replicas = data_parallel(2, 2);
  EXPECT_DOUBLE_EQ(cost.time->seconds(replicas, Rank(0), plan::all_reduce(SegmentId(0), 1, StepId(0), GroupId(0)), 2),
                   2);
  EXPECT_DOUBLE_EQ(cost.time->seconds(replicas, Rank(0), plan::all_reduce(SegmentId(0), 2, StepId(0), GroupId(0)), 2),
                   3);
  EXPECT_DOUBLE_EQ(cost.time->seconds(replicas, Rank(0), plan::update(SegmentId(0), 2, StepId(0), VersionId(1)), 1),
                   32 + .5);
  EXPECT_DOUBLE_EQ(cost.time->seconds(replicas, Rank(0), plan::update(SegmentId(0), 1, StepId(0), VersionId(1)), 2),
                   48 + .5);
}

TEST(CalibratedCosts, OfOneHostAreNotThoseOfTwo) {
  const models::ModelSpec model = chain(2);
  Calibration known = measured(model);
  plan::Plan pipe = test_plan(case_of("gpipe", 2, 4, 2), 2), replicas = data_parallel(2, 2);
  const plan::Op send = plan::send_forward(SegmentId(0), m0, StepId(0), Rank(1));
  const plan::Op sum = plan::all_reduce(SegmentId(0), 2, StepId(0), GroupId(0));
  pipe.placement = replicas.placement = in_blocks(2, 2);
  {
    const Costs cost = calibrated_costs(known, model);
    EXPECT_THAT(error_of(*cost.time, pipe, send, 1), HasSubstr("no point-to-point curve between hosts"));
    EXPECT_THAT(error_of(*cost.time, replicas, sum, 1), HasSubstr("no all-reduce curve of 2 ranks on 2 hosts"));
  }
  known.all_reduce[reduction_key(replicas.spec, {.ranks = 2, .hosts = 2, .most = 1})] = {{0, 10}, {128, 30}};
  known.point_to_point[message_key(pipe.spec, true)] = {{0, 10}, {256, 50}};
  const Costs cost = calibrated_costs(known, model);
  EXPECT_DOUBLE_EQ(cost.time->seconds(pipe, Rank(0), send, 1), 30);
  EXPECT_DOUBLE_EQ(cost.time->seconds(replicas, Rank(0), sum, 1), 30);
  EXPECT_DOUBLE_EQ(cost.time->link(pipe).latency_s, 10) << "the slowest link";
  EXPECT_DOUBLE_EQ(cost.time->link(replicas).latency_s, 5);
  pipe.placement = replicas.placement = {};
  EXPECT_DOUBLE_EQ(cost.time->seconds(pipe, Rank(0), send, 1), 3);
  EXPECT_DOUBLE_EQ(cost.time->seconds(replicas, Rank(0), sum, 1), 3);
}

TEST(CalibratedCosts, SumsOnMoreHostsFollowFromThoseMeasuredByRoundsAndBytes) {
  Calibration known;
  Case spec = case_of("data-parallel", 4, 4);
  known.all_reduce[reduction_key(spec, {.ranks = 2, .hosts = 2, .most = 1})] = {{0, 1}, {128, 5}};
  const auto seconds = [&](const GroupShape& shape, std::int64_t bytes) {
    return collective_times(known, spec, plan::OpKind::all_reduce, shape, bytes).total();
  };
  // Halving and doubling: 2 rounds and all bytes on two hosts, 4 and 3/2 on four; a ring on three: 4 and 4/3.
  EXPECT_DOUBLE_EQ(seconds({.ranks = 4, .hosts = 4, .most = 1}, 128), 2 * 1 + 1.5 * 4);
  EXPECT_DOUBLE_EQ(seconds({.ranks = 4, .hosts = 4, .most = 1}, 0), 2);
  EXPECT_DOUBLE_EQ(seconds({.ranks = 3, .hosts = 3, .most = 1}, 128), 2 * 1 + 4. / 3 * 4);
  EXPECT_THROW(seconds({.ranks = 8, .hosts = 4, .most = 2}, 128), Error) << "hosts with more ranks";
  EXPECT_THROW(seconds({.ranks = 3, .hosts = 2, .most = 2}, 128), Error) << "hosts that differ";
  EXPECT_THROW(seconds({.ranks = 2}, 128), Error) << "one host";
  known.all_reduce[reduction_key(spec, {.ranks = 4, .hosts = 4, .most = 1})] = {{0, 7}};
  EXPECT_DOUBLE_EQ(seconds({.ranks = 4, .hosts = 4, .most = 1}, 0), 7) << "what was measured comes first";
}

TEST(CalibratedCosts, SharesAreHalfAnAllReduceWhereNobodyMeasuredThem) {
  Calibration known;
  const Case spec = case_of("zero1", 2, 4);
  const GroupShape two{.ranks = 2};
  known.all_reduce[reduction_key(spec, two)] = {{0, 2}, {128, 10}};
  const auto seconds = [&](plan::OpKind kind) { return collective_times(known, spec, kind, two, 128).total(); };
  EXPECT_DOUBLE_EQ(seconds(plan::OpKind::reduce_scatter), 5);
  EXPECT_DOUBLE_EQ(seconds(plan::OpKind::all_gather), 5);
  known.reduce_scatter[reduction_key(spec, two)] = {{0, 1}, {128, 7}};
  EXPECT_DOUBLE_EQ(seconds(plan::OpKind::reduce_scatter), 7);
  EXPECT_DOUBLE_EQ(seconds(plan::OpKind::all_gather), 5);
  known.all_gather[reduction_key(spec, two)] = {{0, 1}, {128, 9}};
  EXPECT_DOUBLE_EQ(seconds(plan::OpKind::all_gather), 9);
  EXPECT_DOUBLE_EQ(seconds(plan::OpKind::all_reduce), 10);
  EXPECT_DOUBLE_EQ(seconds(plan::OpKind::broadcast), 5);
}

TEST(CalibratedCosts, SlowdownsBesideComputingComeFromThePointsThatTellThem) {
  Calibration known;
  const Case spec = case_of("zero1", 2, 4);
  const GroupShape two{.ranks = 2};
  const auto slowdown = [&](plan::OpKind kind, std::int64_t bytes) {
    return collective_beside_computing(known, spec, kind, two, bytes).slowdown;
  };
  known.all_reduce[reduction_key(spec, two)] = {{0, 2}, {128, 10}};
  EXPECT_EQ(slowdown(plan::OpKind::all_reduce, 128), 0) << "not measured";
  known.all_reduce[reduction_key(spec, two)] = {{0, 2, 10}, {64, 5}, {128, 10, 30}};
  EXPECT_DOUBLE_EQ(slowdown(plan::OpKind::all_reduce, 0), 5);
  EXPECT_DOUBLE_EQ(slowdown(plan::OpKind::all_reduce, 64), 20. / 6);
  EXPECT_DOUBLE_EQ(slowdown(plan::OpKind::all_reduce, 1024), 3) << "beyond the curve";
  EXPECT_DOUBLE_EQ(slowdown(plan::OpKind::all_gather, 128), 3) << "by the all-reduce's";
  known.all_gather[reduction_key(spec, two)] = {{0, 1}, {128, 9}};
  EXPECT_DOUBLE_EQ(slowdown(plan::OpKind::all_gather, 128), 3) << "its own tells nothing";
  known.all_gather[reduction_key(spec, two)] = {{0, 1, 2}, {128, 9, 18}};
  EXPECT_DOUBLE_EQ(slowdown(plan::OpKind::all_gather, 128), 2);
  known.point_to_point[message_key(spec, false)] = {{64, 1, 4}};
  EXPECT_DOUBLE_EQ(message_beside_computing(known, spec, false, 64).slowdown, 4);
}

TEST(CalibratedCosts, WhatComputingLosesToExchangesComesFromThePointsThatTellIt) {
  Calibration known;
  const Case spec = case_of("zero1", 2, 4);
  known.point_to_point[message_key(spec, false)] = {{0, 1, 2}, {64, 1, 2, 0.25}, {128, 1, 2, 0.75}};
  const auto lost_share = [&](std::int64_t bytes) {
    return message_beside_computing(known, spec, false, bytes).lost_share.value();
  };
  EXPECT_DOUBLE_EQ(lost_share(0), 0.25);
  EXPECT_DOUBLE_EQ(lost_share(96), 0.5);
  EXPECT_DOUBLE_EQ(lost_share(1024), 0.75);
  const GroupShape two{.ranks = 2};
  known.all_reduce[reduction_key(spec, two)] = {{0, 1, 2}};
  EXPECT_FALSE(collective_beside_computing(known, spec, plan::OpKind::all_reduce, two, 64).lost_share) << "unknown";
}

TEST(CalibratedCosts, SamplesAreLoadedAsFastAsMeasuredWithSoManyRanksAndThreads) {
  const models::ModelSpec model = chain(2);
  Calibration known = measured(model);
  plan::Plan plan = data_parallel(2, 2);
  const auto rate = [&](int ranks) { return calibrated_costs(known, model).time->load_s_per_sample(plan, ranks); };
  EXPECT_EQ(rate(1), 0) << "nobody measured it";
  known.load_s_per_sample[load_key(plan.spec)] = {{1, 1}, {3, 2}};
  EXPECT_DOUBLE_EQ(rate(1), 1);
  EXPECT_DOUBLE_EQ(rate(2), 1.5);
  EXPECT_DOUBLE_EQ(rate(8), 2);
  plan.spec.loader = 4;
  EXPECT_EQ(rate(1), 0) << "of one thread";
  plan.spec.loader = 1;
  plan.spec.input = InputKind::resident;
  EXPECT_EQ(rate(1), 0) << "nothing is loaded";
}

TEST(CalibratedCosts, HalvesOfADoubleTreeGoAroundTheRing) {
  Calibration known;
  Case spec = case_of("data-parallel", 16, 16);
  spec.reduce = ReduceKind::double_tree;
  const GroupShape shape{.ranks = 16, .hosts = 16, .most = 1};
  known.all_reduce[reduction_key(spec, shape)] = {{0, 8}, {128, 24}};
  const auto parts = [&](plan::OpKind kind) { return collective_times(known, spec, kind, shape, 128); };
  EXPECT_DOUBLE_EQ(parts(plan::OpKind::all_reduce).total(), 24);
  // Trees: 8 rounds, and two buffers from the busiest rank. Half a ring: 15 rounds, and 15/16 of a buffer.
  for (const plan::OpKind half : {plan::OpKind::reduce_scatter, plan::OpKind::all_gather}) {
    EXPECT_DOUBLE_EQ(parts(half).latency, 15);
    EXPECT_DOUBLE_EQ(parts(half).transfer, 16 * 15. / 16 / 2);
  }
}

TEST(CalibratedCosts, RanksOfOtherHostsKeepNobodyBusy) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  const Costs cost = calibrated_costs(known, model);
  plan::Plan plan = test_plan(case_of("sequential", 1, 2), 2);
  plan.placement = {{0, 1, 1}};
  const plan::Op first = plan::forward(SegmentId(0), m0, StepId(0), VersionId(0));
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), first, 3), 10 + .5);
  plan.placement = {};
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), first, 3), 30 + .5);
}

TEST(CalibratedCosts, PartsAreLayersOverheadAndTraffic) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  const Costs cost = calibrated_costs(known, model);
  const plan::Plan pipe = test_plan(case_of("gpipe", 2, 4, 2), 2);
  plan::Op back = plan::backward(SegmentId(0), m0, StepId(0), VersionId(0));
  EXPECT_EQ(cost.time->parts(pipe, Rank(0), back, 1), (TimeParts{.compute = 20, .launch = .5}));
  back.accumulates = true;  // 3 words of the 5 of an update of 16 parameters
  EXPECT_EQ(cost.time->parts(pipe, Rank(0), back, 1), (TimeParts{.compute = 20, .launch = .5, .memory = 9.6}));
  EXPECT_EQ(cost.time->parts(pipe, Rank(0), plan::update(SegmentId(0), 1, StepId(0), VersionId(1)), 1),
            (TimeParts{.launch = .5, .memory = 16}));
  EXPECT_EQ(cost.time->parts(pipe, Rank(0), plan::send_forward(SegmentId(0), m0, StepId(0), Rank(1)), 1),
            (TimeParts{.latency = 1, .transfer = 2}));
  EXPECT_EQ(
      cost.time->parts(data_parallel(2, 2), Rank(0), plan::reduce_scatter(SegmentId(0), 2, StepId(0), GroupId(0)), 1),
      (TimeParts{.latency = .5, .transfer = 1}));
}

TEST(CalibratedCosts, ReplicasNeedNoMessagesMeasured) {
  const models::ModelSpec model = chain(2);
  Calibration calibration = measured(model);
  calibration.point_to_point.clear();
  const plan::Plan plan = data_parallel(2, 2);
  const Costs cost = calibrated_costs(calibration, model);
  // A ring of two takes two hops of half the bytes: T(n) = 2 latency + n / rate = 1 + n / 64.
  const Link link = cost.time->link(plan);
  EXPECT_DOUBLE_EQ(link.latency_s, .5);
  EXPECT_DOUBLE_EQ(link.bytes_per_s, 64);
  const double reduction =
      cost.time->seconds(plan, Rank(0), plan::all_reduce(SegmentId(0), 1, StepId(0), GroupId(0)), 1);  // of 64 bytes
  EXPECT_DOUBLE_EQ(ring_all_reduce(2, 64, link.latency_s, 1 / link.bytes_per_s, 0), reduction);
  EXPECT_EQ(second_opinions(plan, model, *cost.time).count("ddlbench_eq_5_1"), 1u);
}

TEST(CalibratedCosts, ReplicasThatShareInGroupsNeedNoSumsAmongAllMeasured) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  Case spec = case_of("zero1", 4, 4);
  spec.shard = 2;
  const Link link = calibrated_costs(known, model).time->link(test_plan(spec, 2));
  EXPECT_DOUBLE_EQ(link.latency_s, .5);
  EXPECT_DOUBLE_EQ(link.bytes_per_s, 64);
}

TEST(CalibratedCosts, NameWhatWasNeverMeasured) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  const Costs cost = calibrated_costs(known, model);
  plan::Plan plan = data_parallel(2, 2);
  const plan::Op op = plan::forward(SegmentId(1), m0, StepId(0), VersionId(0));
  EXPECT_THAT(error_of(*cost.time, plan, op, 4), AllOf(HasSubstr("'layer l1 ("), HasSubstr("4 busy ranks")));
  plan.spec.threads = 2;
  EXPECT_THAT(error_of(*cost.time, plan, op, 1),
              AllOf(HasSubstr("'layer l1 ("), HasSubstr("threads:2"), HasSubstr("calibrate")));
  plan.spec.threads = 1;
  EXPECT_THAT(error_of(*cost.time, data_parallel(3, 2), plan::all_reduce(SegmentId(0), 1, StepId(0), GroupId(0)), 1),
              HasSubstr("all-reduce curve of 3 ranks"));
  plan.spec.comm = CommKind::threads;
  EXPECT_THAT(error_of(*cost.time, plan, plan::send_forward(SegmentId(0), m0, StepId(0), Rank(1)), 1),
              HasSubstr("threads"));
}

/// The same on a GPU, a thousand times as fast.
Calibration with_gpu(Calibration c) {
  for (const auto& [key, timings] : std::map(c.layers)) {
    LayerKey on_gpu = key;
    on_gpu.device = DeviceKind::cuda;
    for (LayerTiming t : timings) {
      t.forward_s /= 1000;
      t.backward_s /= 1000;
      c.layers[on_gpu].push_back(t);
    }
  }
  c.all_reduce[{"mpi", 2, DeviceKind::cuda}] = {{1000, 7}};
  c.point_to_point[{"mpi", 4, DeviceKind::cuda}] = {{1000, 9}};
  c.update_s_per_parameter[{DeviceKind::cuda, "sgd"}] = {{1, .001}};
  c.step_overhead_s[DeviceKind::cuda] = .0625;
  c.machine.gpus = {{.name = "NVIDIA H200", .capability = 90, .memory_bytes = 1000}};
  return c;
}

TEST(CalibratedCosts, AreThoseOfTheCasesDevice) {
  const models::ModelSpec model = chain(2);
  const Calibration known = with_gpu(measured(model));
  const Costs cost = calibrated_costs(known, model);
  plan::Plan plan = data_parallel(2, 2);
  plan.pieces = {{2}, {2}};
  const plan::Op f = plan::forward(SegmentId(0), m0, StepId(0), VersionId(0));
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), f, 1), 10 + .5);
  plan.spec.device = DeviceKind::cuda;
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), f, 1), .01 + .0625);
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), plan::update(SegmentId(0), 1, StepId(0), VersionId(1)), 1),
                   .016 + .0625);
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), plan::all_reduce(SegmentId(0), 2, StepId(0), GroupId(0)), 1), 7);
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), plan::send_forward(SegmentId(0), m0, StepId(0), Rank(1)), 1), 9);
  plan.spec.comm = CommKind::nccl;
  EXPECT_THAT(error_of(*cost.time, plan, plan::all_reduce(SegmentId(0), 1, StepId(0), GroupId(0)), 1),
              AllOf(HasSubstr("nccl"), HasSubstr("cuda")));
}

TEST(CalibratedCosts, NameTheDeviceThatWasNeverMeasured) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  const Costs cost = calibrated_costs(known, model);
  plan::Plan plan = test_plan(case_of("sequential", 1, 2), 2);
  plan.spec.device = DeviceKind::cuda;
  EXPECT_THAT(error_of(*cost.time, plan, plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)), 1),
              HasSubstr("device:cuda"));
  EXPECT_THAT(error_of(*cost.time, plan, plan::update(SegmentId(0), 1, StepId(0), VersionId(1)), 1),
              HasSubstr("device:cuda"));
  EXPECT_FALSE(has_layers(measured(model), model, plan.spec));
}

TEST(CalibratedCosts, NoLayerTakesLessThanItsLaunches) {
  const models::ModelSpec model = chain(2);
  Calibration calibration = with_gpu(measured(model));
  calibration.launch_floor_s = .006;  // a layer's forward has two operations
  for (const auto& [key, timings] : std::map(calibration.layers)) {
    LayerKey replayed = key;
    replayed.graph = true;
    calibration.layers[replayed] = timings;
  }
  plan::Plan plan = test_plan(case_of("sequential", 1, 2), 2);
  plan.spec.device = DeviceKind::cuda;
  const Costs cost = calibrated_costs(calibration, model);
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)), 1),
                   .012 + .0625);
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), plan::forward(SegmentId(1), m0, StepId(0), VersionId(0)), 1),
                   .02 + .0625);
  const TimeParts short_layer =
      cost.time->parts(plan, Rank(0), plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)), 1);
  EXPECT_DOUBLE_EQ(short_layer.compute, .01);
  EXPECT_DOUBLE_EQ(short_layer.launch, .002 + .0625);
  plan.spec.graph = true;
  EXPECT_DOUBLE_EQ(cost.time->seconds(plan, Rank(0), plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)), 1), .01)
      << "one launch for all";
}

TEST(CalibratedCosts, ReplayedLayersAndThoseOnResidentInputHaveTimesOfTheirOwn) {
  const models::ModelSpec model = chain(2);
  Calibration calibration = with_gpu(measured(model));
  for (const auto& [key, timings] : std::map(calibration.layers)) {
    if (key.device != DeviceKind::cuda) continue;
    const bool first = key.layer.ends_with("+first");
    for (const bool graph : {false, true}) {
      for (const InputKind input : {InputKind::host, InputKind::resident}) {
        if (!first && input == InputKind::resident) continue;
        LayerKey other = key;
        other.graph = graph;
        other.input = input;
        std::vector<LayerTiming> changed = timings;
        for (LayerTiming& t : changed) t.forward_s += (graph ? 100 : 0) + (input == InputKind::resident ? 1000 : 0);
        calibration.layers[other] = changed;
      }
    }
  }
  plan::Plan plan = test_plan(case_of("sequential", 1, 2), 2);
  plan.spec.device = DeviceKind::cuda;
  const Costs cost = calibrated_costs(calibration, model);
  const auto seconds = [&](int layer) {
    return cost.time->seconds(plan, Rank(0), plan::forward(SegmentId(layer), m0, StepId(0), VersionId(0)), 1);
  };
  const double first = seconds(0), second = seconds(1);
  plan.spec.input = InputKind::resident;
  EXPECT_DOUBLE_EQ(seconds(0), first + 1000);
  EXPECT_DOUBLE_EQ(seconds(1), second) << "reads no images";
  const double eager = seconds(0);
  plan.spec.graph = true;
  EXPECT_NEAR(seconds(0), eager + 100, 1) << "without the time between operations";
  calibration.layers.erase(layer_key(model.layers[0], model.input, true, plan.spec, 1));
  calibration.layers.erase(layer_key(model.layers[0], model.input, true, plan.spec, 3));
  EXPECT_THAT(error_of(*calibrated_costs(calibration, model).time, plan,
                       plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)), 1),
              AllOf(HasSubstr("graph:on"), HasSubstr("input:resident")));
}

TEST(CalibratedCosts, TheGpusOverheadIsMeasuredElseTypical) {
  const models::ModelSpec model = chain(2);
  Calibration calibration = with_gpu(measured(model));
  plan::Plan plan = data_parallel(2, 2);
  EXPECT_EQ(calibrated_costs(calibration, model).memory->device_overhead(plan).context_bytes, 0) << "on the processor";
  plan.spec.device = DeviceKind::cuda;
  plan.spec.comm = CommKind::nccl;
  const DeviceOverhead typical = calibrated_costs(calibration, model).memory->device_overhead(plan);
  EXPECT_EQ(typical.context_bytes, typical_context_bytes);
  EXPECT_EQ(typical.communicator_bytes, typical_nccl_alone_bytes + typical_nccl_neighbour_bytes);
  EXPECT_EQ(typical.matrix_workspace_bytes, 33'554'432);
  EXPECT_EQ(typical.memory_bytes, 1000);
  calibration.context_bytes = 11;
  calibration.communicator_bytes = {{"nccl", 22}, {"nccl/np:1", 33}};
  const DeviceOverhead own = calibrated_costs(calibration, model).memory->device_overhead(plan);
  EXPECT_EQ(own.context_bytes, 11);
  EXPECT_EQ(own.communicator_bytes, 22);
  plan::Plan alone = data_parallel(1, 2);
  alone.spec.device = DeviceKind::cuda;
  alone.spec.comm = CommKind::nccl;
  EXPECT_EQ(calibrated_costs(calibration, model).memory->device_overhead(alone).communicator_bytes, 33);
  calibration.communicator_bytes.erase("nccl/np:1");
  EXPECT_EQ(calibrated_costs(calibration, model).memory->device_overhead(alone).communicator_bytes,
            typical_nccl_alone_bytes)
      << "that of several ranks has buffers for neighbours";
  alone.spec.comm = CommKind::threads;
  EXPECT_EQ(calibrated_costs(calibration, model).memory->device_overhead(alone).communicator_bytes, 0);
}

TEST(CalibratedCosts, OtherModelsLayersAreNotMixedUp) {
  // Layer 0 is measured only as a first layer; as an inner one it is unknown.
  models::ModelSpec model = chain(1);
  Calibration calibration = measured(model);
  model.layers.push_back(model.layers[0]);
  EXPECT_FALSE(has_layers(calibration, model, case_of("sequential", 1, 2)));
  const Costs cost = calibrated_costs(calibration, model);
  EXPECT_THAT(error_of(*cost.time, test_plan(case_of("sequential", 1, 2), 2),
                       plan::forward(SegmentId(1), m0, StepId(0), VersionId(0)), 1),
              HasSubstr("never measured"));
}

TEST(DataSheetCosts, AnNcclCommunicatorHoldsMemoryOfARankAloneToo) {
  plan::Plan plan = data_parallel(2, 2);
  plan.spec.device = DeviceKind::cuda;
  const auto communicator = [&](CommKind comm) {
    plan.spec.comm = comm;
    return data_sheet_costs({}, Sizes(chain(2))).memory->device_overhead(plan).communicator_bytes;
  };
  EXPECT_EQ(communicator(CommKind::nccl), typical_nccl_alone_bytes + typical_nccl_neighbour_bytes);
  EXPECT_EQ(communicator(CommKind::threads), 0);
  plan.spec.np = 1;
  EXPECT_EQ(communicator(CommKind::nccl), typical_nccl_alone_bytes);
}

TEST(CalibratedCosts, MeasuredBytesReplaceTheFormula) {
  const models::ModelSpec model = chain(2);
  Calibration calibration = measured(model);
  const plan::Plan whole = test_plan(case_of("model-parallel", 1, 2), 2);
  const plan::Op f = plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)),
                 b = plan::backward(SegmentId(0), m0, StepId(0), VersionId(0));
  {
    const Costs cost = calibrated_costs(calibration, model);
    EXPECT_EQ(cost.memory->saved_bytes(whole, Rank(0), f), Sizes(model).saved_bytes(whole, Rank(0), f));
    EXPECT_EQ(cost.memory->peak_bytes(whole, Rank(0), b), Sizes(model).temporary_bytes(whole, Rank(0), b));
  }
  for (auto& [key, timings] : calibration.layers) {
    const bool first = key.layer.ends_with("+first");
    timings.front().saved_bytes = first ? 100 : 70;
    timings.front().forward_peak_bytes = first ? 250 : 90;
    timings.front().backward_peak_bytes = first ? 200 : 60;
    timings.resize(1);
  }
  const Costs cost = calibrated_costs(calibration, model);
  EXPECT_EQ(cost.memory->saved_bytes(whole, Rank(0), f), 170);
  // Forward: max(250, 100 + 90) - 170. Backward: the second layer 60, handed a scalar; then the first, 200 with 70
  // released and the gradients of its output (2 samples of 64 bytes) and of the second layer's weights alive. Where
  // another micro-batch has started the gradients, the second layer's were added and are gone.
  EXPECT_EQ(cost.memory->peak_bytes(whole, Rank(0), f), 80);
  EXPECT_EQ(cost.memory->peak_bytes(whole, Rank(0), b), 200 - 70 + 128 + 64);
  plan::Op adds = b;
  adds.accumulates = true;
  EXPECT_EQ(cost.memory->peak_bytes(whole, Rank(0), adds), 200 - 70 + 128);
}

/// Every layer measured once, with these bytes.
Calibration with_bytes(const models::ModelSpec& model, std::int64_t saved, std::int64_t backward_peak) {
  Calibration calibration = measured(model);
  for (auto& [key, timings] : calibration.layers) {
    timings.resize(1);
    timings.front().saved_bytes = saved;
    timings.front().backward_peak_bytes = backward_peak;
  }
  return calibration;
}

TEST(CalibratedCosts, PassesThatAddAndHalvesOfBackwardsHoldWhatWasMeasuredOfThem) {
  const models::ModelSpec model = chain(1);
  Calibration calibration = with_bytes(model, 100, 200);
  const plan::Plan whole = test_plan(case_of("model-parallel", 1, 2), 1);
  const auto peak = [&](plan::OpKind kind, bool adds) {
    plan::Op op = plan::pass(kind, SegmentId(0), m0, StepId(0), VersionId(0));
    op.accumulates = adds;
    return calibrated_costs(calibration, model).memory->peak_bytes(whole, Rank(0), op);
  };
  EXPECT_EQ(peak(plan::OpKind::backward, false), 200);
  EXPECT_EQ(peak(plan::OpKind::backward, true), 200) << "of a file of before 3.4 what is no less";
  EXPECT_EQ(peak(plan::OpKind::backward_input, false), 200);
  for (const bool adds : {false, true}) EXPECT_EQ(peak(plan::OpKind::backward_weight, adds), 200);
  for (auto& [key, timings] : calibration.layers) {
    timings.front().adding_peak_bytes = 150;
    timings.front().split = SplitTiming{
        .input_s = 1, .weight_s = 1, .input_peak_bytes = 0, .weight_peak_bytes = 130, .adding_weight_peak_bytes = 120};
  }
  EXPECT_EQ(peak(plan::OpKind::backward, false), 200);
  EXPECT_EQ(peak(plan::OpKind::backward, true), 150);
  EXPECT_EQ(peak(plan::OpKind::backward_input, false), 0) << "measured, and nothing";
  EXPECT_EQ(peak(plan::OpKind::backward_weight, false), 130);
  EXPECT_EQ(peak(plan::OpKind::backward_weight, true), 120);
}

TEST(CalibratedCosts, HalvesOfABackwardOverLayersKeepWhatTheOtherNeeds) {
  const models::ModelSpec model = chain(2);
  Calibration calibration = with_bytes(model, 1000, 10'000);
  const plan::Plan whole = test_plan(case_of("model-parallel", 1, 2), 2);
  for (auto& [key, timings] : calibration.layers)
    timings.front().split = SplitTiming{.input_s = 1,
                                        .weight_s = 1,
                                        .input_peak_bytes = 300,
                                        .weight_peak_bytes = 500,
                                        .adding_weight_peak_bytes = 400};
  const Costs cost = calibrated_costs(calibration, model);
  const plan::Op input = plan::pass(plan::OpKind::backward_input, SegmentId(0), m0, StepId(0), VersionId(0));
  plan::Op weight = plan::pass(plan::OpKind::backward_weight, SegmentId(0), m0, StepId(0), VersionId(0));
  const Sizes sizes(model);
  const std::int64_t kept = sizes.kept_for_weights(whole, Rank(0), input, 1);
  const std::int64_t passed = sizes.input(1).bytes(2, 4);
  ASSERT_GT(kept, 0);
  // The second layer first; then the first, beside what is left of the second.
  EXPECT_EQ(cost.memory->peak_bytes(whole, Rank(0), input), std::max<std::int64_t>(300, 300 + passed + kept - 1000));
  EXPECT_EQ(cost.memory->peak_bytes(whole, Rank(0), weight),
            std::max<std::int64_t>(500, 500 + sizes.parameter_bytes(Precision::fp32, 1) - kept));
  weight.accumulates = true;
  EXPECT_EQ(cost.memory->peak_bytes(whole, Rank(0), weight), 400) << "the second layer's were added and are gone";
}

TEST(LayerSeconds, AreCalibratedWhereEveryLayerWasMeasured) {
  const models::ModelSpec model = chain(2);
  const Calibration calibration = measured(model);
  Case spec = case_of("model-parallel", 3, 4);
  EXPECT_TRUE(has_layers(calibration, model, spec));
  EXPECT_EQ(layer_seconds(&calibration, {}, model, spec, 2), (std::vector<double>{91, 181}));
  spec.np = 2;  // neither measured with two busy ranks
  EXPECT_FALSE(has_layers(calibration, model, spec));
  EXPECT_EQ(layer_seconds(&calibration, {}, model, spec, 2), layer_seconds(nullptr, {}, model, spec, 2));
}

}  // namespace
}  // namespace parabench::analytic
