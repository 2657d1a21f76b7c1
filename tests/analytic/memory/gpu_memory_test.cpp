#include <gtest/gtest.h>

#include "analytic/memory/sizes.h"
#include "tests/analytic/chain_memory.h"

namespace parabench::analytic {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;

plan::Plan on_gpu(plan::Plan plan) {
  plan.spec.device = DeviceKind::cuda;
  return plan;
}

/// Of a rank that reads images, in pieces of so many samples.
std::int64_t slot_bytes(int samples) { return 2 * samples * (sample_bytes + label_bytes); }

TEST(GpuMemory, IsThatOfTheProcessorWithUploadSlotsAndWhatItsAllocatorReserves) {
  HandCosts costs(KindSeconds{});
  costs.saved = 3 * mebibyte;
  costs.backward_peak = 2 * mebibyte;
  costs.overhead = {.context_bytes = 500, .communicator_bytes = 30};
  for (const plan::Plan& plan : {test_plan(case_of("sequential", 1, 4), 3), gpipe(3, 4), pipedream(3, 6)}) {
    MemoryUsage cpu = peak(plan, 3, costs, 0);
    const MemoryUsage gpu = peak(on_gpu(plan), 3, costs, 0);
    cpu[MemoryCategory::communication] += slot_bytes(plan.pieces[0][0]);
    EXPECT_EQ(gpu.category, cpu.category);
    EXPECT_EQ(cpu.reserved, 0);
    EXPECT_EQ(cpu.device_used, 0);
    EXPECT_GE(gpu.reserved, gpu.total_counted());
    EXPECT_LE(gpu.reserved, gpu.total_counted() + 46 * mebibyte) << "a segment of each pool and stream";
    EXPECT_EQ(gpu.reserved % (2 * mebibyte), 0);
    EXPECT_EQ(gpu.device_used, gpu.reserved + 530);
  }
}

TEST(GpuMemory, TwoSlotsOfTheLargestPieceLieBetweenHostAndRank) {
  HandCosts costs(KindSeconds{});
  costs.saved = saved_in_flight;  // the peak is in flight, not in a message
  const auto communication = [&](const plan::Plan& plan, int rank) {
    const int layers = static_cast<int>(plan.segments.size());
    return peak(on_gpu(plan), layers, costs, rank)[MemoryCategory::communication] -
           peak(plan, layers, costs, rank)[MemoryCategory::communication];
  };
  plan::Plan pipe = gpipe(3, 4);
  pipe.pieces = {{3, 3, 2, 2}};
  EXPECT_EQ(communication(pipe, 0), 2 * 3 * (sample_bytes + label_bytes)) << "images and labels";
  EXPECT_EQ(communication(pipe, 1), 0) << "reads nothing";
  EXPECT_EQ(communication(pipe, 2), 2 * 3 * label_bytes) << "labels alone";
  // Each end computes the first segment of one half of the pieces and the last one of the other.
  EXPECT_EQ(communication(pipeline("chimera", 2, 4), 0), 2 * (sample_bytes + label_bytes) + 2 * label_bytes);
  pipe.spec.precision = Precision::fp64;
  EXPECT_EQ(communication(pipe, 0), 2 * 3 * (sample_bytes + label_bytes)) << "what was loaded is fp32 all the same";
}

TEST(GpuMemory, SlotsHaveAPoolOfTheirOwn) {
  HandCosts costs(KindSeconds{});
  EXPECT_EQ(peak(on_gpu(test_plan(case_of("sequential", 1, 4), 1)), 1, costs, 0).reserved, (2 + 2) * mebibyte);
  // Images of 12.8 MB in segments of their own, labels of 6.4 MB together in one.
  EXPECT_EQ(peak(on_gpu(test_plan(case_of("sequential", 1, 200'000), 1)), 1, costs, 0).reserved,
            (2 * 14 + 20 + 2) * mebibyte);
}

TEST(GpuMemory, ResidentPiecesOfAStepLieThereAllTheTime) {
  HandCosts costs(KindSeconds{});
  costs.saved = saved_in_flight;
  for (const bool graph : {false, true}) {
    plan::Plan plan = on_gpu(pipeline("1f1b", 1, 3, 2, Recompute::none));
    plan.spec.precision = Precision::fp64;
    plan.spec.input = InputKind::resident;
    plan.spec.graph = graph;
    const MemoryUsage usage = peak(plan::unroll(plan, 4), 1, costs, 0);
    EXPECT_EQ(usage[MemoryCategory::communication], 0);
    EXPECT_EQ(usage[MemoryCategory::activations], saved_in_flight + 3 * (2 * sample_bytes + label_bytes)) << graph;
  }
}

TEST(GpuMemory, ResidentImagesNeitherWaitForARecomputeNorAreSavedByAForward) {
  plan::Plan plan = on_gpu(pipeline("gpipe", 3, 4, 2, Recompute::all));
  const std::int64_t waiting = peak_activations(plan, 0);
  const Sizes sizes(chain(3));
  const plan::Op first = plan.ranks[0].compute().front();
  const std::int64_t with_images = sizes.saved_bytes(plan, Rank(0), first);
  plan.spec.input = InputKind::resident;
  // All four lie there, where three waited and the fourth was in its graph.
  EXPECT_EQ(peak_activations(plan, 0), waiting - 3 * sample_bytes + 4 * (sample_bytes + label_bytes));
  EXPECT_EQ(sizes.saved_bytes(plan, Rank(0), first), with_images - sample_bytes);
}

TEST(GpuMemory, ReducedGradientsLieInTheCommunicatorsMemory) {
  HandCosts costs(KindSeconds{});
  costs.overhead = {.context_bytes = 500, .communicator_bytes = 30};
  const MemoryUsage usage = peak(on_gpu(data_parallel(2, 3)), 3, costs, 1);
  EXPECT_EQ(usage[MemoryCategory::gradients], 3 * chain_layer_bytes);
  EXPECT_EQ(usage.reserved, 2 * 2 * mebibyte) << "small blocks, and the upload's";
  EXPECT_EQ(usage.device_used, 2 * 2 * mebibyte + 530 + 3 * chain_layer_bytes);
}

TEST(GpuMemory, OnlyRanksThatMultiplyMatricesHoldTheWorkspace) {
  models::ModelSpec model = chain(1);
  model.layers.push_back(models::chain("fc", {{"fc.mean", models::GlobalAveragePool{}}, {"fc", models::Linear{4, 4}}}));
  const plan::Plan plan = on_gpu(plan::make_plan(case_of("gpipe", 2, 2, 2), model, std::vector<double>(2, 1.0), 1));
  HandCosts costs(KindSeconds{});
  costs.overhead.matrix_workspace_bytes = 33'554'432;
  const plan::Timeline timeline = simulate(plan, costs);
  const MemoryUsage convolutions = peak_memory(plan, model, costs, timeline, Rank(0));
  const MemoryUsage matrices = peak_memory(plan, model, costs, timeline, Rank(1));
  EXPECT_EQ(convolutions[MemoryCategory::workspace], 0);
  EXPECT_EQ(convolutions.reserved, 3 * 2 * mebibyte) << "small blocks of three streams";
  EXPECT_EQ(matrices[MemoryCategory::workspace], 33'554'432);
  EXPECT_EQ(matrices.reserved, 3 * 2 * mebibyte + 33'554'432);
}

TEST(GpuMemory, AForwardsBytesComeTensorByTensor) {
  // 24 MiB in a single layer: two maps of 12 MiB (batch norm after convolution), each in a segment of its own.
  models::ModelSpec model = chain(1);
  model.layers[0] =
      models::chain("l", {{"conv", models::Conv2d{4, 4}}, {"bn", models::BatchNorm{4}}, {"relu", models::Relu{}}});
  HandCosts costs(KindSeconds{});
  costs.saved = 24 * mebibyte + 2;
  const plan::Plan plan = on_gpu(plan::make_plan(case_of("sequential", 1, 1), model, std::vector<double>(1, 1.0), 1));
  const MemoryUsage usage = peak_memory(plan, model, costs, simulate(plan, costs), Rank(0));
  EXPECT_EQ(usage[MemoryCategory::activations], 24 * mebibyte + 2);
  EXPECT_EQ(usage.reserved, (14 + 14 + 2 + 2) * mebibyte);
}

TEST(GpuMemory, StepsThatRepeatReserveNothingNew) {
  HandCosts costs(KindSeconds{});
  costs.saved = 7 * mebibyte;
  costs.backward_peak = 31 * mebibyte;
  const plan::Plan plan = on_gpu(gpipe(2, 3));
  const auto reserved = [&](int steps) { return peak(plan::unroll(plan, steps), 2, costs, 0).reserved; };
  EXPECT_EQ(reserved(2), reserved(20));
}

TEST(GpuMemory, WhatDoesNotFitSaysWhatItWouldTake) {
  HandCosts costs(KindSeconds{});
  costs.saved = 64 * mebibyte;
  const plan::Plan plan = on_gpu(gpipe(1, 4));
  const MemoryUsage needed = peak(plan, 1, costs, 0);
  EXPECT_GE(needed.device_used, 256 * mebibyte);
  costs.overhead = {.context_bytes = mebibyte, .memory_bytes = 100 * mebibyte};
  EXPECT_EQ(peak(plan, 1, costs, 0).device_used, needed.device_used + mebibyte);
}

TEST(GpuMemory, NearTheLimitTheCacheIsGivenBack) {
  HandCosts costs(KindSeconds{.update = 1});
  costs.forward_peak = 40 * mebibyte;
  costs.backward_peak = 100 * mebibyte;  // two of 50, for which the 40 of the forward are of no use
  const plan::Plan plan = on_gpu(test_plan(case_of("sequential", 1, 1), 1));
  EXPECT_EQ(peak(plan, 1, costs, 0).reserved, 144 * mebibyte);
  costs.overhead.memory_bytes = 120 * mebibyte;
  EXPECT_EQ(peak(plan, 1, costs, 0).reserved, 104 * mebibyte);
}

}  // namespace
}  // namespace parabench::analytic
