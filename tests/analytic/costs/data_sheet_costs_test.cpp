// Costs of machines that nobody measured.
#include <gtest/gtest.h>

#include "analytic/costs/costs.h"
#include "analytic/costs/gpu_sheet.h"
#include "analytic/memory/sizes.h"
#include "base/optimizer.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {
namespace {

constexpr MicroBatchId m0{0};

TEST(DataSheetCosts, GrowWithWorkAndContention) {
  const models::ModelSpec model = models::make_model({"resnet18", {}}, {3, 224, 224}, 1000, false);
  const MachineInfo machine{.cores = 2, .frequency_hz = 2e9, .vector_bits = 256};
  const Costs cost = data_sheet_costs(machine, model);
  EXPECT_EQ(cost.time->source(), "data-sheet");
  const auto plan = [&](int batch) {
    return plan::make_plan(case_of("model-parallel", 1, batch), model, std::vector<double>(model.layers.size(), 1.0),
                           1);
  };
  const plan::Op f = plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)),
                 b = plan::backward(SegmentId(0), m0, StepId(0), VersionId(0));
  const double one = cost.time->seconds(plan(8), Rank(0), f, 1);
  // 8 samples of 3.6 GFLOP at .75 x 64 GFLOP/s, plus memory and launches.
  EXPECT_GT(one, 8 * 3.6e9 / 48e9);
  EXPECT_LT(one, 3 * 8 * 3.6e9 / 48e9);
  EXPECT_GT(cost.time->seconds(plan(8), Rank(0), b, 1), 1.5 * one);
  EXPECT_GT(cost.time->seconds(plan(16), Rank(0), f, 1), 1.8 * one);
  EXPECT_GE(cost.time->seconds(plan(8), Rank(0), f, 2), one);
  EXPECT_GT(cost.time->seconds(plan(8), Rank(0), f, 4), 1.9 * one);
}

TEST(DataSheetCosts, FollowTheGpu) {
  const models::ModelSpec model = models::make_model({"resnet50", {}}, {3, 224, 224}, 1000, false);
  Case spec = case_of("model-parallel", 1, 256);
  spec.device = DeviceKind::cuda;
  spec.precision = Precision::bf16;
  const plan::Op f = plan::forward(SegmentId(0), m0, StepId(0), VersionId(0));
  const auto seconds = [&](const std::vector<GpuInfo>& gpus, const Case& c) {
    plan::Plan plan = plan::make_plan(spec, model, std::vector<double>(model.layers.size(), 1.0), 1);
    plan.spec = c;
    plan.pieces = {{c.batch}};
    return data_sheet_costs({.cores = 2, .gpus = gpus}, model).time->seconds(plan, Rank(0), f, 1);
  };
  const double h200 = seconds({{.name = "NVIDIA H200", .capability = 90}}, spec);
  // 256 samples of 8.2 GFLOP at .75 of 989.5 TFLOP/s, and more for memory.
  EXPECT_GT(h200, 256 * 8.2e9 / 742e12);
  EXPECT_LT(h200, 20 * 256 * 8.2e9 / 742e12);
  EXPECT_GT(seconds({{.name = "NVIDIA A100-SXM4-80GB", .capability = 80}}, spec), 1.5 * h200);
  EXPECT_GT(seconds({}, spec), 4 * h200);
  Case single = spec;
  single.batch = 1;
  EXPECT_GT(seconds({{.name = "NVIDIA H200", .capability = 90}}, single), 100 * 10e-6) << "launches, more than 100";
  Case graph = single;
  graph.graph = true;
  EXPECT_LT(3 * seconds({{.name = "NVIDIA H200"}}, graph), seconds({{.name = "NVIDIA H200"}}, single));
}

TEST(DataSheetCosts, UpdatesMoveTheWordsOfTheOptimizer) {
  const models::ModelSpec model = chain(2);
  const Costs cost = data_sheet_costs({.cores = 2}, model);
  plan::Plan plan = test_plan(case_of("sequential", 1, 4), 2);
  const auto seconds = [&](const char* optimizer) {
    plan.spec.optimizer.name = optimizer;
    return cost.time->seconds(plan, Rank(0), plan::update(SegmentId(0), 1, StepId(0), VersionId(1)), 1);
  };
  EXPECT_DOUBLE_EQ(seconds("adam"), 7.0 / 5 * seconds("sgd"));
  EXPECT_DOUBLE_EQ(seconds("adamw"), seconds("adam"));
}

TEST(DataSheetCosts, GathersOfWeightsThatComeAndGoAndUpdatesToNewVersionsMoveMoreOnProcessors) {
  const models::ModelSpec model = chain(2);
  for (const DeviceKind device : {DeviceKind::cpu, DeviceKind::cuda}) {
    const Costs cost = data_sheet_costs({.cores = 2}, model);
    plan::Plan plan = data_parallel(2, 2);
    plan.spec.device = device;
    const plan::Op gather = plan::all_gather(SegmentId(0), 2, StepId(0), VersionId(0), GroupId(0));
    const plan::Op update = plan::update(SegmentId(0), 2, StepId(0), VersionId(1));
    const auto memory = [&](const plan::Op& op, int busy) { return cost.time->parts(plan, Rank(0), op, busy).memory; };
    const double words = find_optimizer("sgd").words, in_place = memory(update, 2);
    EXPECT_EQ(memory(gather, 1), 0) << "whole weights stay";
    plan.room.weights = 2;
    plan.ranks[0].weight_versions = 2;
    const double copied = device == DeviceKind::cpu ? 3 : 2;
    EXPECT_DOUBLE_EQ(memory(gather, 1), copied / words * in_place / 2) << "half of the weights, while both copy";
    EXPECT_DOUBLE_EQ(memory(update, 2), (words + copied - 2) / words * in_place);
  }
}

TEST(DataSheetCosts, RanksShareGpusOnlyWhereTheyMust) {
  const models::ModelSpec model = chain(2);
  plan::Plan plan = data_parallel(2, 2);
  plan.spec.device = DeviceKind::cuda;
  const auto seconds = [&](CommKind comm, int gpus, const plan::Op& op) {
    plan.spec.comm = comm;
    return data_sheet_costs({.cores = 2, .gpus = {{.name = "NVIDIA H200", .count = gpus}}}, model)
        .time->seconds(plan, Rank(0), op, 2);
  };
  const plan::Op f = plan::forward(SegmentId(0), m0, StepId(0), VersionId(0)),
                 r = plan::all_reduce(SegmentId(0), 2, StepId(0), GroupId(0));
  EXPECT_DOUBLE_EQ(seconds(CommKind::threads, 1, f), 2 * seconds(CommKind::threads, 2, f));
  EXPECT_DOUBLE_EQ(seconds(CommKind::nccl, 1, f), seconds(CommKind::nccl, 2, f));
  EXPECT_GT(seconds(CommKind::mpi, 2, r), seconds(CommKind::nccl, 2, r));
}

TEST(DataSheetCosts, AReduceScatterAndAnAllGatherAreTheHalvesOfAnAllReduce) {
  const models::ModelSpec model = chain(4);
  const plan::Plan plan = data_parallel(4, 4);
  const Costs cost = data_sheet_costs({.cores = 2}, model);
  const auto seconds = [&](const plan::Op& op) { return cost.time->seconds(plan, Rank(0), op, 1); };
  const double whole = seconds(plan::all_reduce(SegmentId(0), 4, StepId(0), GroupId(0)));
  EXPECT_GT(whole, 0);
  EXPECT_DOUBLE_EQ(seconds(plan::reduce_scatter(SegmentId(0), 4, StepId(0), GroupId(0))), whole / 2);
  EXPECT_DOUBLE_EQ(seconds(plan::all_gather(SegmentId(0), 4, StepId(0), VersionId(1), GroupId(0))), whole / 2);
}

TEST(DataSheetCosts, HalvesOfADoubleTreeGoAroundTheRing) {
  const Costs costs = data_sheet_costs({.cores = 4}, chain(4));
  plan::Plan plan = data_parallel(16, 4);
  const plan::Op half = plan::reduce_scatter(SegmentId(0), 4, StepId(0), GroupId(0));
  const auto seconds = [&](ReduceKind reduce) {
    plan.spec.reduce = reduce;
    return costs.time->seconds(plan, Rank(0), half, 1);
  };
  EXPECT_EQ(seconds(ReduceKind::double_tree), seconds(ReduceKind::ring));
  EXPECT_NE(seconds(ReduceKind::halving_doubling), seconds(ReduceKind::ring));
}

TEST(DataSheetCosts, AnUpdateInSharesTakesTheTimeOfItsShare) {
  const models::ModelSpec model = chain(4);
  Case spec = case_of("zero1", 2, 4);
  spec.optimizer.name = "lars";
  const plan::Plan plan = test_plan(spec, 4);
  const Costs cost = data_sheet_costs({.cores = 2}, model);
  const auto seconds = [&](const plan::Op& op) { return cost.time->seconds(plan, Rank(1), op, 1); };
  const double whole = seconds(plan::update(SegmentId(0), 4, StepId(0), VersionId(1)));
  const double share = seconds(plan::sharded_update(SegmentId(0), 4, StepId(0), VersionId(1), GroupId(0)));
  const double norms = seconds(plan::norms(SegmentId(0), 4, StepId(0), GroupId(0)));
  EXPECT_DOUBLE_EQ(share + norms, whole / 2);
  EXPECT_DOUBLE_EQ(norms, 2.0 / 7 * whole / 2);
  EXPECT_GT(seconds(plan::all_reduce_norms(SegmentId(0), 4, StepId(0), GroupId(0))), 0);
}

TEST(DataSheetCosts, ALayerCountsForTheLongerSideOfItsRooflineAndItsLaunches) {
  // A layer of many multiply-adds on few values, and one that only moves values.
  models::ModelSpec model{.name = "two", .input = {64, 8, 8}, .classes = 64, .layers = {}};
  model.layers.push_back(models::chain("conv", {{"conv", models::Conv2d{.in = 64, .out = 64}}}));
  model.layers.push_back(models::chain("relu", {{"relu", models::Relu{}}}));
  const MachineInfo machine{.cores = 2, .frequency_hz = 2e9, .vector_bits = 256};
  const auto parts = [&](Case spec, const MachineInfo& on, SegmentId layer) {
    plan::Plan plan = test_plan(case_of("model-parallel", 2, 256), 2);
    plan.spec.device = spec.device;
    return data_sheet_costs(on, model).time->parts(plan, Rank(layer.value),
                                                   plan::forward(layer, m0, StepId(0), VersionId(0)), 1);
  };
  const TimeParts conv = parts({}, machine, SegmentId(0)), relu = parts({}, machine, SegmentId(1));
  EXPECT_GT(conv.compute, 0);
  EXPECT_EQ(conv.memory, 0);
  EXPECT_EQ(relu.compute, 0);
  EXPECT_GT(relu.memory, 0);
  EXPECT_NEAR(conv.launch, 10e-6, 1e-12);
  Case on_gpu;
  on_gpu.device = DeviceKind::cuda;
  const MachineInfo gpu{.cores = 2, .gpus = {{.name = "NVIDIA H200", .capability = 90}}};
  const TimeParts hidden = parts(on_gpu, gpu, SegmentId(1));
  EXPECT_NEAR(hidden.memory + hidden.launch, 10e-6, 1e-12) << "launching takes longer than the work and hides it";
  EXPECT_GT(hidden.memory, 0);
}

TEST(DataSheetCosts, WhatNoBytesWouldTakeIsLatency) {
  const models::ModelSpec model = chain(4);
  const Costs cost = data_sheet_costs({.cores = 2}, model);
  const plan::Plan pipe = test_plan(case_of("gpipe", 2, 4, 2), 4);
  const plan::Op message = plan::send_forward(SegmentId(0), m0, StepId(0), Rank(1));
  const TimeParts sent = cost.time->parts(pipe, Rank(0), message, 1);
  EXPECT_EQ(sent.latency, cost.time->link(pipe).latency_s);
  EXPECT_EQ(sent.transfer, static_cast<double>(Sizes(model).payload_bytes(pipe, Rank(0), message)) /
                               cost.time->link(pipe).bytes_per_s);
  const plan::Plan replicas = data_parallel(4, 4);
  const TimeParts one =
                      cost.time->parts(replicas, Rank(0), plan::all_reduce(SegmentId(0), 1, StepId(0), GroupId(0)), 1),
                  four =
                      cost.time->parts(replicas, Rank(0), plan::all_reduce(SegmentId(0), 4, StepId(0), GroupId(0)), 1);
  EXPECT_DOUBLE_EQ(four.latency, one.latency);
  EXPECT_NEAR(four.transfer, 4 * one.transfer, 1e-9 * four.transfer);
  EXPECT_DOUBLE_EQ(one.latency, 6 * 20e-6) << "2 (p - 1) steps";
}

TEST(UnitCosts, KnowNeitherBytesNorCores) {
  const Costs cost = unit_costs();
  const plan::Plan plan = gpipe(2, 2);
  EXPECT_EQ(cost.time->cores(), 0);
  EXPECT_EQ(cost.memory->saved_bytes(plan, Rank(0), plan::forward(SegmentId(0), m0, StepId(0), VersionId(0))), 0);
  EXPECT_EQ(cost.time->seconds(plan, Rank(0), plan::backward(SegmentId(0), m0, StepId(0), VersionId(0)), 2), 2);
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

// A core draws 10 GB/s from memory, a host's memory gives 25.
TEST(DataSheetCosts, RanksThatTakeTurnsOnCoresWaitForMemoryNoLongerThanForTheirShareOfIt) {
  models::ModelSpec model{.name = "moves", .input = {64, 8, 8}, .classes = 64, .layers = {}};
  model.layers.push_back(models::chain("relu", {{"relu", models::Relu{}}}));
  plan::Plan plan = test_plan(case_of("sequential", 1, 256), 1);
  const plan::Op f = plan::forward(SegmentId(0), m0, StepId(0), VersionId(0));
  const auto memory_s = [&](int cores, int busy, int threads = 1) {
    plan.spec.threads = threads;
    return data_sheet_costs({.cores = cores}, model).time->parts(plan, Rank(0), f, busy).memory;
  };
  const double at_10 = memory_s(2, 1);
  EXPECT_GT(at_10, 0);
  EXPECT_NEAR(memory_s(2, 2), at_10, 1e-9 * at_10) << "12.5 each, more than a core draws";
  EXPECT_NEAR(memory_s(2, 4), at_10 * 10 / 5, 1e-9 * at_10) << "6.25 each, more than half a core draws";
  EXPECT_NEAR(memory_s(8, 16), at_10 * 10 * 16 / 25, 1e-9 * at_10) << "less than half a core draws";
  EXPECT_NEAR(memory_s(2, 1, /*threads=*/8), at_10 * 10 / 20, 1e-9 * at_10) << "more threads are no more cores";
}

TEST(DataSheetCosts, UpdatesWithoutMomentumMoveNoStates) {
  const models::ModelSpec model = models::make_model({"mlp", {}}, {3, 32, 32}, 10, false);
  plan::Plan plan = plan::make_plan(case_of("sequential", 1, 4), model, {}, 1);
  const auto memory_s = [&] {
    const plan::Op update = plan::update(SegmentId(0), 1, StepId(0), VersionId(1));
    return data_sheet_costs({.cores = 2}, model).time->parts(plan, Rank(0), update, 1).memory;
  };
  const double with_momentum = memory_s();
  plan.spec.momentum = 0;
  EXPECT_NEAR(memory_s(), with_momentum * 3 / 5, 1e-9 * with_momentum);
}

TEST(DataSheetCosts, UpdatesOfRanksThatTakeTurnsAreAsSlowAsTheirTurnsOrTheirShareOfMemory) {
  const models::ModelSpec model = models::make_model({"mlp", {}}, {3, 32, 32}, 10, false);
  const plan::Plan plan = plan::make_plan(case_of("sequential", 1, 4), model, {}, 1);
  const plan::Op update = plan::update(SegmentId(0), 1, StepId(0), VersionId(1));
  const auto memory_s = [&](int cores, int busy) {
    return data_sheet_costs({.cores = cores}, model).time->parts(plan, Rank(0), update, busy).memory;
  };
  const double at_10 = memory_s(2, 1);
  EXPECT_NEAR(memory_s(2, 2), at_10, 1e-9 * at_10);
  EXPECT_NEAR(memory_s(2, 4), at_10 * 10 / 5, 1e-9 * at_10) << "half a core each";
  EXPECT_NEAR(memory_s(8, 8), at_10 * 10 * 8 / 25, 1e-9 * at_10) << "an eighth of the memory each";
}

}  // namespace
}  // namespace parabench::analytic
