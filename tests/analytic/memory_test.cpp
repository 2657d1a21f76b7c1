#include <gtest/gtest.h>

#include "analytic/simulate.h"
#include "analytic/sizes.h"
#include "tests/analytic/fixtures.h"

namespace parabench {
namespace {

constexpr std::int64_t layer_bytes = 64;   // 16 fp32 parameters
constexpr std::int64_t sample_bytes = 64;  // a 4x2x2 map

MemoryUsage peak(const Plan& plan, int layers, const HandCosts& costs, int rank) {
  return peak_memory(plan, chain(layers), costs, simulate(plan, costs), Rank(rank));
}

TEST(PeakMemory, StatesFollowThePlan) {
  HandCosts costs(KindSeconds{});
  costs.forward_peak = 1;  // the peak is the first forward: nothing but the states and a byte
  Plan plan = plan_of(case_of("sequential", 1, 4), 3);
  MemoryUsage usage = peak(plan, 3, costs, 0);
  EXPECT_EQ(usage[MemoryCategory::parameters], 3 * layer_bytes);
  EXPECT_EQ(usage[MemoryCategory::optimizer], 3 * layer_bytes);
  EXPECT_EQ(usage[MemoryCategory::weight_versions], 0);
  plan.spec.momentum = 0;
  plan.spec.precision = Precision::fp64;
  usage = peak(plan, 3, costs, 0);
  EXPECT_EQ(usage[MemoryCategory::parameters], 6 * layer_bytes);
  EXPECT_EQ(usage[MemoryCategory::optimizer], 0);
  plan.spec.precision = Precision::bf16;
  EXPECT_EQ(peak(plan, 3, costs, 0)[MemoryCategory::parameters], 3 * layer_bytes);
}

TEST(PeakMemory, GradientsLiveFromTheFirstBackwardToTheUpdateUnlessAnArenaHoldsThemForReduction) {
  HandCosts costs(KindSeconds{});
  costs.backward_peak = 1000;  // the peak is inside the last backward: those of the other two layers are there
  EXPECT_EQ(peak(plan_of(case_of("sequential", 1, 4), 3), 3, costs, 0)[MemoryCategory::gradients], 2 * layer_bytes);
  EXPECT_EQ(peak(data_parallel(2, 3), 3, costs, 1)[MemoryCategory::gradients], 3 * layer_bytes);
  EXPECT_EQ(peak(gpipe(3, 1), 3, costs, 1)[MemoryCategory::gradients], 0);
  EXPECT_EQ(peak(gpipe(1, 2), 1, costs, 0)[MemoryCategory::gradients], layer_bytes) << "the second adds to them";
}

TEST(PeakMemory, EveryTensorIsPaddedTo64Bytes) {
  ModelSpec model = chain(1);
  model.layers.push_back({.name = "bn", .body = {{"bn", BatchNorm{4}}}});  // weight and bias of 16 bytes
  const Plan plan = make_plan(case_of("sequential", 1, 1), model, std::vector<double>(2, 1.0), 1);
  const HandCosts costs(KindSeconds{});
  EXPECT_EQ(peak_memory(plan, model, costs, simulate(plan, costs), Rank(0))[MemoryCategory::parameters], 3 * 64);
}

TEST(PeakMemory, GpipeKeepsAllMicroBatchesInFlight) {
  HandCosts costs(KindSeconds{});
  costs.saved = 1000;
  costs.backward_peak = 10;
  for (int m = 1; m <= 6; ++m) {
    const Plan plan = gpipe(3, m);
    // The peak is inside the first backward. Rank 0 loads images inside its saved bytes, rank 1 received activations.
    const MemoryUsage first = peak(plan, 3, costs, 0), middle = peak(plan, 3, costs, 1), last = peak(plan, 3, costs, 2);
    EXPECT_EQ(first[MemoryCategory::activations], m * 1000);
    EXPECT_EQ(middle[MemoryCategory::activations], m * (1000 + sample_bytes));
    EXPECT_EQ(first[MemoryCategory::workspace], 10);
    EXPECT_EQ(last[MemoryCategory::communication], 0);
    EXPECT_EQ(last[MemoryCategory::activations], m * (1000 + sample_bytes));
  }
}

TEST(PeakMemory, AReceivedGradientIsHeldFromItsPosting) {
  HandCosts costs(KindSeconds{});
  costs.saved = 1000;
  const MemoryUsage usage = peak(gpipe(2, 3), 2, costs, 0);
  // Receives are posted one at a time: the next one beside the one being consumed.
  EXPECT_EQ(usage[MemoryCategory::communication], 2 * sample_bytes);
}

TEST(PeakMemory, PipedreamKeepsAsManyActivationsAndWeightVersionsAsStagesFollow) {
  HandCosts costs(KindSeconds{});
  costs.saved = 10'000;
  const int stages = 4;
  const Plan plan = pipedream(stages, 12);
  for (int rank = 0; rank < stages; ++rank) {
    const MemoryUsage usage = peak(plan, stages, costs, rank);
    EXPECT_EQ(usage[MemoryCategory::activations] / 10'000, stages - rank) << rank;
    EXPECT_EQ(usage[MemoryCategory::weight_versions], (stages - rank - 1) * layer_bytes) << rank;
  }
}

constexpr std::int64_t saved = 100'000;  ///< so much more than all else that what is in flight makes the peak

std::int64_t peak_activations(const Plan& plan, int rank) {
  HandCosts costs(KindSeconds{});
  costs.saved = saved;
  return peak(plan, static_cast<int>(plan.segments.size()), costs, rank)[MemoryCategory::activations];
}

/// What an I keeps for its W, of one sample of a chain's layer.
std::int64_t kept_for_weights(const Plan& plan, int rank) {
  const Op pass = plan.ranks[rank].compute().front();
  return Sizes(chain(static_cast<int>(plan.segments.size()))).kept_for_weights(plan, Rank(rank), pass);
}

// schedules.md section 3: M_B from F to I, M_W from I to W.
TEST(PeakMemory, SplitBackwardKeepsAPartUntilTheWeightGradients) {
  constexpr int devices = 4;
  const Plan h1 = pipeline("zb-h1", devices, 16), h2 = pipeline("zb-h2", devices, 16);
  for (int p = 0; p < devices; ++p) {
    const std::int64_t m_b = saved + (p > 0 ? sample_bytes : 0), m_w = kept_for_weights(h1, p);
    EXPECT_GT(m_w, 0);
    EXPECT_EQ(peak_activations(h1, p), (devices - p) * m_b + p * m_w) << p;
    EXPECT_EQ(peak_activations(h2, p), (2 * (devices - p) - 1) * m_b + 2 * p * m_w) << p;
  }
}

TEST(PeakMemory, RecomputeKeepsBoundariesAndTheGraphOfOneMicroBatch) {
  for (const int m : {1, 3, 8}) {
    const Plan plan = pipeline("gpipe", 3, m, 2, Recompute::all);
    for (const int p : {1, 2}) EXPECT_EQ(peak_activations(plan, p), m * sample_bytes + saved) << m << ' ' << p;
    // Images wait alike; those of the micro-batch that has its graph back are part of what it saved.
    EXPECT_EQ(peak_activations(plan, 0), (m - 1) * sample_bytes + saved) << m;
    const Plan all_but_last = pipeline("gpipe", 3, m, 2, Recompute::except_last);
    EXPECT_EQ(peak_activations(all_but_last, 1) / saved, m > 1 ? 2 : 1) << "first recomputed beside the last";
  }
}

TEST(PeakMemory, ACapturedStepHoldsTheImagesOfAllItsMicroBatches) {
  for (const Recompute recompute : {Recompute::none, Recompute::all}) {
    Plan plan = pipeline("1f1b", 1, 3, 2, recompute);
    const std::int64_t eager = peak_activations(plan, 0);
    plan.spec.graph = true;
    EXPECT_EQ(peak_activations(plan, 0) - eager, 2 * sample_bytes);
  }
}

TEST(PeakMemory, CountsWhatIsInFlightInAllStagesOfARank) {
  const auto in_flight = [](const std::string& strategy, int micro_batches) {
    const Plan plan = pipeline(strategy, 4, micro_batches);
    std::vector<std::int64_t> pairs;
    for (int p = 0; p < 4; ++p) pairs.push_back(peak_activations(plan, p) / saved);
    return pairs;
  };
  EXPECT_EQ(in_flight("1f1b", 8), (std::vector<std::int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(in_flight("dapple", 8), (std::vector<std::int64_t>{7, 5, 3, 1}));
  EXPECT_EQ(in_flight("interleaved", 8), (std::vector<std::int64_t>{11, 9, 7, 5})) << "chunks: halves of a stage";
  EXPECT_EQ(in_flight("looped-bfs", 8), (std::vector<std::int64_t>{16, 16, 16, 16}));
  EXPECT_EQ(in_flight("zb-v", 8), (std::vector<std::int64_t>{8, 8, 8, 8}));
  EXPECT_EQ(in_flight("chimera", 4), (std::vector<std::int64_t>{3, 4, 4, 3}));
}

TEST(PeakMemory, ARankHoldsTheParametersOfAllItsStages) {
  const HandCosts costs(KindSeconds{});
  for (const char* strategy : {"interleaved", "zb-v", "chimera"}) {
    const Plan plan = pipeline(strategy, 4, 4);
    for (int p = 0; p < 4; ++p) {
      const int layers = static_cast<int>(plan.segments.size());
      EXPECT_EQ(peak(plan, layers, costs, p)[MemoryCategory::parameters], 2 * layer_bytes) << strategy;
    }
  }
}

TEST(PeakMemory, ReportsTheCategoriesOfTheHighestTotal) {
  // Two segments on one rank: the forward's temporaries (500) outweigh the backward's (100) and a gradient of 64.
  HandCosts costs(KindSeconds{});
  costs.saved = 200;
  costs.forward_peak = 500;
  costs.backward_peak = 100;
  const Plan plan = plan_of(case_of("sequential", 1, 1), 2);
  MemoryUsage usage = peak(plan, 2, costs, 0);
  EXPECT_EQ(usage[MemoryCategory::activations], 2 * 200 + 500);
  EXPECT_EQ(usage[MemoryCategory::workspace], 0);
  costs.forward_peak = 0;
  costs.backward_peak = 300;
  usage = peak(plan, 2, costs, 0);
  // The first backward: both saved; the second: one saved, its temporaries, the gradients handed down and of
  // the weights.
  EXPECT_EQ(usage[MemoryCategory::activations], 400);
  EXPECT_EQ(usage[MemoryCategory::workspace], 300);
  EXPECT_EQ(usage.total_counted(), 2 * 2 * layer_bytes + 700);
}

constexpr std::int64_t mebibyte = 1 << 20;

Plan on_gpu(Plan plan) {
  plan.spec.device = DeviceKind::cuda;
  return plan;
}

/// Of a rank that reads images, in pieces of so many samples.
std::int64_t slot_bytes(int samples) { return 2 * samples * (sample_bytes + 8); }

TEST(GpuMemory, IsThatOfTheProcessorWithUploadSlotsAndWhatItsAllocatorReserves) {
  HandCosts costs(KindSeconds{});
  costs.saved = 3 * mebibyte;
  costs.backward_peak = 2 * mebibyte;
  costs.overhead = {.context_bytes = 500, .communicator_bytes = 30};
  for (const Plan& plan : {plan_of(case_of("sequential", 1, 4), 3), gpipe(3, 4), pipedream(3, 6)}) {
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
  costs.saved = saved;  // the peak is in flight, not in a message
  const auto communication = [&](const Plan& plan, int rank) {
    const int layers = static_cast<int>(plan.segments.size());
    return peak(on_gpu(plan), layers, costs, rank)[MemoryCategory::communication] -
           peak(plan, layers, costs, rank)[MemoryCategory::communication];
  };
  Plan pipe = gpipe(3, 4);
  pipe.pieces = {{3, 3, 2, 2}};
  EXPECT_EQ(communication(pipe, 0), 2 * 3 * (sample_bytes + 8)) << "images and labels";
  EXPECT_EQ(communication(pipe, 1), 0) << "reads nothing";
  EXPECT_EQ(communication(pipe, 2), 2 * 3 * 8) << "labels alone";
  // Each end computes the first segment of one half of the pieces and the last one of the other.
  EXPECT_EQ(communication(pipeline("chimera", 2, 4), 0), 2 * (sample_bytes + 8) + 2 * 8);
  pipe.spec.precision = Precision::fp64;
  EXPECT_EQ(communication(pipe, 0), 2 * 3 * (sample_bytes + 8)) << "what was loaded is fp32 all the same";
}

TEST(GpuMemory, SlotsHaveAPoolOfTheirOwn) {
  HandCosts costs(KindSeconds{});
  EXPECT_EQ(peak(on_gpu(plan_of(case_of("sequential", 1, 4), 1)), 1, costs, 0).reserved, (2 + 2) * mebibyte);
  // Images of 12.8 MB in segments of their own, labels in what is left of these.
  EXPECT_EQ(peak(on_gpu(plan_of(case_of("sequential", 1, 200'000), 1)), 1, costs, 0).reserved, (2 * 14 + 2) * mebibyte);
}

TEST(GpuMemory, ResidentPiecesOfAStepLieThereAllTheTime) {
  HandCosts costs(KindSeconds{});
  costs.saved = saved;
  for (const bool graph : {false, true}) {
    Plan plan = on_gpu(pipeline("1f1b", 1, 3, 2, Recompute::none));
    plan.spec.precision = Precision::fp64;
    plan.spec.input = InputKind::resident;
    plan.spec.graph = graph;
    const MemoryUsage usage = peak(unroll(plan, 4), 1, costs, 0);
    EXPECT_EQ(usage[MemoryCategory::communication], 0);
    EXPECT_EQ(usage[MemoryCategory::activations], saved + 3 * (2 * sample_bytes + 8)) << graph;
  }
}

TEST(GpuMemory, ResidentImagesNeitherWaitForARecomputeNorAreSavedByAForward) {
  Plan plan = on_gpu(pipeline("gpipe", 3, 4, 2, Recompute::all));
  const std::int64_t waiting = peak_activations(plan, 0);
  const Sizes sizes(chain(3));
  const Op first = plan.ranks[0].compute().front();
  const std::int64_t with_images = sizes.saved_bytes(plan, Rank(0), first);
  plan.spec.input = InputKind::resident;
  // All four lie there, where three waited and the fourth was in its graph.
  EXPECT_EQ(peak_activations(plan, 0), waiting - 3 * sample_bytes + 4 * (sample_bytes + 8));
  EXPECT_EQ(sizes.saved_bytes(plan, Rank(0), first), with_images - sample_bytes);
}

TEST(GpuMemory, ReducedGradientsLieInTheCommunicatorsMemory) {
  HandCosts costs(KindSeconds{});
  costs.overhead = {.context_bytes = 500, .communicator_bytes = 30};
  const MemoryUsage usage = peak(on_gpu(data_parallel(2, 3)), 3, costs, 1);
  EXPECT_EQ(usage[MemoryCategory::gradients], 3 * layer_bytes);
  EXPECT_EQ(usage.reserved, 2 * 2 * mebibyte) << "small blocks, and the upload's";
  EXPECT_EQ(usage.device_used, 2 * 2 * mebibyte + 530 + 3 * layer_bytes);
}

TEST(GpuMemory, OnlyRanksThatMultiplyMatricesHoldTheWorkspace) {
  ModelSpec model = chain(1);
  model.layers.push_back({.name = "fc", .body = {{"fc.mean", GlobalAveragePool{}}, {"fc", Linear{4, 4}}}});
  const Plan plan = on_gpu(make_plan(case_of("gpipe", 2, 2, 2), model, std::vector<double>(2, 1.0), 1));
  HandCosts costs(KindSeconds{});
  costs.overhead.matrix_workspace_bytes = 33'554'432;
  const Timeline timeline = simulate(plan, costs);
  const MemoryUsage convolutions = peak_memory(plan, model, costs, timeline, Rank(0));
  const MemoryUsage matrices = peak_memory(plan, model, costs, timeline, Rank(1));
  EXPECT_EQ(convolutions[MemoryCategory::workspace], 0);
  EXPECT_EQ(convolutions.reserved, 3 * 2 * mebibyte) << "small blocks of three streams";
  EXPECT_EQ(matrices[MemoryCategory::workspace], 33'554'432);
  EXPECT_EQ(matrices.reserved, 3 * 2 * mebibyte + 33'554'432);
}

TEST(GpuMemory, AForwardsBytesComeTensorByTensor) {
  // 24 MiB in a single layer: two maps of 12 MiB (batch norm after convolution), each in a segment of its own.
  ModelSpec model = chain(1);
  model.layers[0].body.insert(model.layers[0].body.begin() + 1, {"bn", BatchNorm{4}});
  HandCosts costs(KindSeconds{});
  costs.saved = 24 * mebibyte + 2;
  const Plan plan = on_gpu(make_plan(case_of("sequential", 1, 1), model, std::vector<double>(1, 1.0), 1));
  const MemoryUsage usage = peak_memory(plan, model, costs, simulate(plan, costs), Rank(0));
  EXPECT_EQ(usage[MemoryCategory::activations], 24 * mebibyte + 2);
  EXPECT_EQ(usage.reserved, (14 + 14 + 2 + 2) * mebibyte);
}

TEST(GpuMemory, StepsThatRepeatReserveNothingNew) {
  HandCosts costs(KindSeconds{});
  costs.saved = 7 * mebibyte;
  costs.backward_peak = 31 * mebibyte;
  const Plan plan = on_gpu(gpipe(2, 3));
  const auto reserved = [&](int steps) { return peak(unroll(plan, steps), 2, costs, 0).reserved; };
  EXPECT_EQ(reserved(2), reserved(20));
}

TEST(GpuMemory, WhatDoesNotFitSaysWhatItWouldTake) {
  HandCosts costs(KindSeconds{});
  costs.saved = 64 * mebibyte;
  const Plan plan = on_gpu(gpipe(1, 4));
  const MemoryUsage needed = peak(plan, 1, costs, 0);
  EXPECT_GE(needed.device_used, 256 * mebibyte);
  costs.overhead = {.context_bytes = mebibyte, .memory_bytes = 100 * mebibyte};
  EXPECT_EQ(peak(plan, 1, costs, 0).device_used, needed.device_used + mebibyte);
}

TEST(GpuMemory, NearTheLimitTheCacheIsGivenBack) {
  HandCosts costs(KindSeconds{.update = 1});
  costs.forward_peak = 40 * mebibyte;
  costs.backward_peak = 100 * mebibyte;  // two of 50, for which the 40 of the forward are of no use
  const Plan plan = on_gpu(plan_of(case_of("sequential", 1, 1), 1));
  EXPECT_EQ(peak(plan, 1, costs, 0).reserved, 144 * mebibyte);
  costs.overhead.memory_bytes = 120 * mebibyte;
  EXPECT_EQ(peak(plan, 1, costs, 0).reserved, 104 * mebibyte);
}

TEST(Sizes, MadeTensorsAreTheOutputsOfTheSteps) {
  ModelSpec model{.name = "stem", .input = {3, 8, 8}, .classes = 2, .layers = {}};
  model.layers.push_back(
      {.name = "stem", .body = {{"conv", Conv2d{.in = 3, .out = 2}}, {"relu", Relu{}}, {"pool", MaxPool{}}}});
  const Plan plan = make_plan(case_of("sequential", 1, 5), model, std::vector<double>(1, 1.0), 1);
  const auto made = Sizes(model).made_tensors(plan, Rank(0), forward(SegmentId(0), MicroBatchId(0), 0, 0));
  EXPECT_EQ(made, (std::vector<std::int64_t>{5 * 2 * 64 * 4, 5 * 2 * 16 * 4, 5 * 2 * 16 * 8}));
}

TEST(Sizes, SavedBytesOfAChainAreTheSumOfItsSegments) {
  const Sizes sizes(chain(3));
  const Plan by_layer = plan_of(case_of("sequential", 1, 5), 3);
  std::int64_t sum = 0;
  for (SegmentId s; s.value < 3; ++s) sum += sizes.saved_bytes(by_layer, Rank(0), forward(s, MicroBatchId(0), 0, 0));
  Case spec = case_of("model-parallel", 1, 5);
  const Plan whole = plan_of(spec, 3);
  EXPECT_EQ(sum, sizes.saved_bytes(whole, Rank(0), forward(SegmentId(0), MicroBatchId(0), 0, 0)));
  // Images and three outputs (ReLU in place); all maps are of one size.
  EXPECT_EQ(sum, 4 * 5 * sample_bytes);
}

TEST(Sizes, MessagesCarryTheBoundaryOfBothEnds) {
  const Sizes sizes(chain(2));
  Plan plan = gpipe(2, 2);
  plan.pieces = {{3, 2}};
  const Op there = send_forward(SegmentId(0), MicroBatchId(1), 0, Rank(1));
  const Op here = recv_forward(SegmentId(1), MicroBatchId(1), 0, Rank(0));
  EXPECT_EQ(sizes.message_bytes(plan, Rank(0), there), 2 * sample_bytes);
  EXPECT_EQ(sizes.message_bytes(plan, Rank(1), here), 2 * sample_bytes);
  plan.spec.precision = Precision::bf16;
  EXPECT_EQ(sizes.message_bytes(plan, Rank(1), here), sample_bytes);
}

}  // namespace
}  // namespace parabench
