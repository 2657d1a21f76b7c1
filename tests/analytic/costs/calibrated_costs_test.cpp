// Costs from measurements, and which of them they need.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "analytic/closed_forms/second_opinion.h"
#include "analytic/costs/costs.h"
#include "analytic/costs/curve_times.h"
#include "analytic/costs/layer_seconds.h"
#include "analytic/costs/update_words.h"
#include "base/optimizer.h"
#include "tests/analytic/costs/measured_chain.h"

namespace parabench::analytic {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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

TEST(CalibratedCosts, ASegmentMeasuredAsOneTakesThatTimeNotTheSumOfItsLayers) {
  const models::ModelSpec model = chain(3);
  Calibration known = measured(model);
  const Sizes sizes(model);
  const auto key = [&](int first, int busy) {
    return layer_key(segment_signature(std::array{sizes.signature(first), sizes.signature(first + 1)}), first == 0, {},
                     busy);
  };
  for (const int busy : {1, 3})
    known.layers[key(1, busy)] = {{.samples = 4, .forward_s = 7.0 * busy, .backward_s = 11.0 * busy}};
  const Costs cost = calibrated_costs(known, model);
  const auto seconds = [&](int samples, SegmentId segment, int busy) {
    plan::Plan plan = test_plan(case_of("sequential", 1, samples), 3);
    plan.segments = {{.first_layer = 0, .layers = 1}, {.first_layer = 1, .layers = 2}, {.first_layer = 0, .layers = 2}};
    return cost.time->seconds(plan, Rank(0), plan::forward(segment, m0, StepId(0), VersionId(0)), busy);
  };
  EXPECT_DOUBLE_EQ(seconds(4, SegmentId(1), 1), 7 + .5);
  EXPECT_DOUBLE_EQ(seconds(4, SegmentId(1), 2), 14 + .5);
  EXPECT_DOUBLE_EQ(seconds(2, SegmentId(1), 1), 40 + .5) << "nobody measured it with two samples";
  EXPECT_DOUBLE_EQ(seconds(4, SegmentId(0), 1), 15 + .5);
  EXPECT_DOUBLE_EQ(seconds(4, SegmentId(2), 1), 45 + .5) << "the first two layers are another segment";
}

TEST(CalibratedCosts, HalvesAndDeviationsOfASegmentMeasuredAsOneAreItsOwn) {
  const models::ModelSpec model = chain(2);
  Calibration known = measured(model);
  const Sizes sizes(model);
  const std::string both = segment_signature(std::array{sizes.signature(0), sizes.signature(1)});
  known.layers[layer_key(both, true, {}, 1)] = {
      {.samples = 4,
       .forward_s = 7,
       .backward_s = 11,
       .forward_mad_s = .5,
       .backward_mad_s = .75,
       .split = SplitTiming{.input_s = 4, .weight_s = 5, .input_mad_s = .25}}};
  const Costs cost = calibrated_costs(known, model);
  const plan::Plan whole = test_plan(case_of("model-parallel", 1, 4), 2);
  const auto pass = [](plan::OpKind kind) { return plan::pass(kind, SegmentId(0), m0, StepId(0), VersionId(0)); };
  EXPECT_DOUBLE_EQ(cost.time->seconds(whole, Rank(0), pass(plan::OpKind::backward_input), 1), 4 + .5);
  EXPECT_DOUBLE_EQ(cost.time->seconds(whole, Rank(0), pass(plan::OpKind::backward_weight), 1), 5 + .5);
  EXPECT_DOUBLE_EQ(cost.time->deviation_s(whole, Rank(0), pass(plan::OpKind::backward_input), 1), .25);
  EXPECT_DOUBLE_EQ(cost.time->deviation_s(whole, Rank(0), pass(plan::OpKind::backward), 1), .75);
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

TEST(CalibratedCosts, UpdatesWithoutMomentumAreMeasuredByThemselves) {
  const models::ModelSpec model = chain(2);
  plan::Plan plan = test_plan(case_of("sequential", 1, 4), 2);
  const plan::Op update_one = plan::update(SegmentId(0), 1, StepId(0), VersionId(1));
  Calibration calibration = measured(model);
  const double sgd = calibrated_costs(calibration, model).time->seconds(plan, Rank(0), update_one, 1) - .5;
  plan.spec.momentum = 0;
  EXPECT_THAT(error_of(*calibrated_costs(calibration, model).time, plan, update_one, 1),
              HasSubstr("optimizer:sgd/momentum:0"));
  calibration.update_s_per_parameter[update_key(plan.spec)] = {{1, .5}};
  EXPECT_DOUBLE_EQ(calibrated_costs(calibration, model).time->seconds(plan, Rank(0), update_one, 1), .5 * sgd + .5);
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
  EXPECT_DOUBLE_EQ(seconds("c10d"), (words + 3) / words * seconds("data-parallel"));
  const plan::Plan alone = test_plan(case_of("c10d", 1, 4), 2), sequential = test_plan(case_of("sequential", 1, 4), 2);
  EXPECT_EQ(cost.time->seconds(alone, Rank(0), update_all, 1), cost.time->seconds(sequential, Rank(0), update_all, 1));
}

TEST(CalibratedCosts, ABackwardThatIsSummedCopiesItsGradientsIntoTheArena) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  const Costs cost = calibrated_costs(known, model);
  const plan::Op backward = plan::backward(SegmentId(0), m0, StepId(0), VersionId(0));
  const plan::Op update_both = plan::update(SegmentId(0), 2, StepId(0), VersionId(1));
  const auto memory = [&](const plan::Plan& plan, const plan::Op& op) {
    return cost.time->parts(plan, Rank(0), op, 2).memory;
  };
  const plan::Plan alone = test_plan(case_of("sequential", 1, 4), 2),
                   sums = test_plan(case_of("data-parallel", 2, 4), 2);
  EXPECT_EQ(memory(alone, backward), 0);
  EXPECT_DOUBLE_EQ(2 * memory(sums, backward),
                   3.0 / find_optimizer("sgd").words * (cost.time->seconds(sums, Rank(0), update_both, 2) - .5))
      << "read, read before it is written, and written";
  Case on_gpus = sums.spec;
  on_gpus.device = DeviceKind::cuda;
  EXPECT_EQ(copied_words(sums.spec), 3);
  EXPECT_EQ(copied_words(on_gpus), 2);
}

TEST(CalibratedCosts, AnUpdateToANewVersionWritesWhatItHasNotRead) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  const Costs cost = calibrated_costs(known, model);
  plan::Plan plan = test_plan(case_of("sequential", 1, 4), 2);
  const plan::Op update = plan::update(SegmentId(0), 1, StepId(0), VersionId(1));
  const auto seconds = [&] { return cost.time->seconds(plan, Rank(0), update, 1) - .5; };
  const double in_place = seconds(), words = find_optimizer("sgd").words;
  plan.ranks[0].weight_versions = 2;
  EXPECT_DOUBLE_EQ(seconds(), (words + 1) / words * in_place);
}

TEST(CalibratedCosts, AGatherOfWeightsThatComeAndGoCopiesTheOwnShareFirst) {
  const models::ModelSpec model = chain(2);
  const Calibration known = measured(model);
  const Costs cost = calibrated_costs(known, model);
  plan::Plan plan = data_parallel(2, 2);
  const plan::Op gather = plan::all_gather(SegmentId(0), 2, StepId(0), VersionId(0), GroupId(0));
  const plan::Op sum = plan::reduce_scatter(SegmentId(0), 2, StepId(0), GroupId(0));
  const plan::Op update_both = plan::update(SegmentId(0), 2, StepId(0), VersionId(1));
  const auto seconds = [&](const plan::Op& op) { return cost.time->seconds(plan, Rank(0), op, 2); };
  const double whole_weights_stay = seconds(gather), summed = seconds(sum);
  plan.room.weights = 2;
  EXPECT_DOUBLE_EQ(seconds(gather) - whole_weights_stay,
                   3.0 / find_optimizer("sgd").words * (seconds(update_both) - .5) / 2)
      << "one of two shares";
  EXPECT_EQ(seconds(sum), summed);
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
    EXPECT_THAT(
        error_of(*cost.time, replicas, sum, 1),
        testing::AllOf(HasSubstr("no all-reduce curve of 2 ranks on 2 hosts"), HasSubstr("calibrate CASE --launcher")));
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
