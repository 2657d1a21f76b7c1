#include "analytic/memory/peak_memory.h"

#include <gtest/gtest.h>

#include "analytic/memory/allocations.h"
#include "analytic/memory/sizes.h"
#include "analytic/simulate/simulate.h"
#include "tests/analytic/chain_memory.h"

namespace parabench::analytic {
namespace {

TEST(PeakMemory, StatesFollowThePlan) {
  HandCosts costs(KindSeconds{});
  costs.forward_peak = 1;  // the peak is the first forward: nothing but the states and a byte
  plan::Plan plan = test_plan(case_of("sequential", 1, 4), 3);
  MemoryUsage usage = peak(plan, 3, costs, 0);
  EXPECT_EQ(usage[MemoryCategory::parameters], 3 * chain_layer_bytes);
  EXPECT_EQ(usage[MemoryCategory::optimizer], 3 * chain_layer_bytes);
  EXPECT_EQ(usage[MemoryCategory::weight_versions], 0);
  plan.spec.optimizer.name = "adam";
  EXPECT_EQ(peak(plan, 3, costs, 0)[MemoryCategory::optimizer], 2 * 3 * chain_layer_bytes + 3 * 4);
  plan.spec.optimizer.name = "sgd";
  plan.spec.momentum = 0;
  plan.spec.precision = Precision::fp64;
  usage = peak(plan, 3, costs, 0);
  EXPECT_EQ(usage[MemoryCategory::parameters], 6 * chain_layer_bytes);
  EXPECT_EQ(usage[MemoryCategory::optimizer], 0);
  plan.spec.precision = Precision::bf16;
  EXPECT_EQ(peak(plan, 3, costs, 0)[MemoryCategory::parameters], 3 * chain_layer_bytes);
}

TEST(PeakMemory, UpdatesInSharesKeepStatesOfTheSharesAlone) {
  HandCosts costs(KindSeconds{});
  costs.forward_peak = 1;
  Case spec = case_of("zero1", 4, 4);
  spec.optimizer.name = "adam";
  const plan::Plan plan = test_plan(spec, 4);  // one bucket of four cache lines
  for (int rank = 0; rank < 4; ++rank) {
    const MemoryUsage usage = peak(plan, 4, costs, rank);
    EXPECT_EQ(usage[MemoryCategory::parameters], 4 * chain_layer_bytes);
    EXPECT_EQ(usage[MemoryCategory::gradients], 4 * chain_layer_bytes);
    EXPECT_EQ(usage[MemoryCategory::optimizer], 2 * chain_layer_bytes + 4 * 4);
  }
}

TEST(PeakMemory, CompressedSumsKeepTheirMessagesAndWhatTheyLeftOut) {
  HandCosts costs(KindSeconds{});
  costs.forward_peak = 1;
  const auto usage = [&](const NamedChoice& compress) {
    Case spec = case_of("data-parallel", 2, 4);
    spec.bucket = Bytes(1);
    spec.compress = compress;
    return peak(test_plan(spec, 3), 3, costs, 1);
  };
  const MemoryUsage whole = usage({"none", {}}), rounded = usage({"bf16", {}}), all = usage({"topk", {{"ratio", "1"}}});
  EXPECT_EQ(whole[MemoryCategory::gradients], 3 * chain_layer_bytes);
  EXPECT_EQ(whole[MemoryCategory::communication], 0);
  EXPECT_EQ(rounded[MemoryCategory::gradients], 3 * chain_layer_bytes);
  EXPECT_EQ(rounded[MemoryCategory::communication], 3 * 64) << "16 values of 2 bytes, in whole cache lines";
  EXPECT_EQ(all[MemoryCategory::gradients], 2 * 3 * chain_layer_bytes);
  EXPECT_EQ(all[MemoryCategory::communication], 2 * 3 * 16 * 8) << "values and places of both ranks";
}

TEST(PeakMemory, SharedGradientsAndWeightsKeepASharePlusTheBuffersThatThereIsRoomFor) {
  HandCosts costs(KindSeconds{});
  costs.forward_peak = 1;
  const auto usage = [&](const char* strategy, int prefetch) {
    Case spec = case_of(strategy, 2, 4);
    spec.bucket = Bytes(1);
    spec.prefetch = prefetch;
    return peak(test_plan(spec, 6), 6, costs, 1);  // layers of one cache line: the second rank has all of it
  };
  EXPECT_EQ(usage("zero2", 1)[MemoryCategory::parameters], 6 * chain_layer_bytes);
  EXPECT_EQ(usage("zero2", 1)[MemoryCategory::gradients], 2 * chain_layer_bytes);
  EXPECT_EQ(usage("zero3", 0)[MemoryCategory::parameters], (6 + 1) * chain_layer_bytes);
  EXPECT_EQ(usage("zero3", 3)[MemoryCategory::parameters], (6 + 4) * chain_layer_bytes);
  EXPECT_EQ(usage("zero3", 3)[MemoryCategory::gradients], 2 * chain_layer_bytes);
}

TEST(PeakMemory, RanksThatShareInGroupsKeepALargerShare) {
  HandCosts costs(KindSeconds{});
  costs.forward_peak = 1;
  const auto usage = [&](const char* strategy, int shard) {
    Case spec = case_of(strategy, 4, 4);
    spec.shard = shard;
    return peak(test_plan(spec, 8), 8, costs, 3);  // one bucket of eight cache lines
  };
  for (const char* strategy : {"zero1", "zero2", "zero3"}) {
    for (const int shard : {1, 2, 4})
      EXPECT_EQ(usage(strategy, shard)[MemoryCategory::optimizer], 8 / shard * chain_layer_bytes) << strategy << shard;
  }
  EXPECT_EQ(usage("zero3", 2)[MemoryCategory::parameters], (8 + 4) * chain_layer_bytes);
  EXPECT_EQ(usage("zero3", 4)[MemoryCategory::parameters], (8 + 2) * chain_layer_bytes);
}

TEST(PeakMemory, WorkersOfServersKeepNoStatesAndServersABucketOfEachWorkerOfAnUpdate) {
  HandCosts costs(KindSeconds{});
  costs.forward_peak = 1;
  const auto usage = [&](NamedChoice strategy, int rank) {
    Case spec = case_of("parameter-server", 4, 6);  // three workers, buckets of a layer
    spec.strategy = std::move(strategy);
    spec.bucket = Bytes(1);
    return peak(test_plan(spec, 3, 4), 3, costs, rank);
  };
  for (const NamedChoice& mode : {NamedChoice{"parameter-server", {}},
                                  {"parameter-server", {{"mode", "async"}}},
                                  {"parameter-server", {{"mode", "stale"}, {"k", "2"}}}}) {
    const bool stale = mode.parameters.size() == 2;
    const MemoryUsage worker = usage(mode, 0), server = usage(mode, 3);
    EXPECT_EQ(worker[MemoryCategory::parameters], 3 * chain_layer_bytes);
    EXPECT_EQ(worker[MemoryCategory::gradients], 3 * chain_layer_bytes);
    EXPECT_EQ(worker[MemoryCategory::optimizer], 0);
    EXPECT_EQ(worker[MemoryCategory::weight_versions], stale ? 2 * 3 * chain_layer_bytes : 0);
    EXPECT_EQ(server[MemoryCategory::parameters], 3 * chain_layer_bytes);
    EXPECT_EQ(server[MemoryCategory::gradients], 3 * chain_layer_bytes);
    EXPECT_EQ(server[MemoryCategory::optimizer], 3 * chain_layer_bytes);
    EXPECT_EQ(server[MemoryCategory::communication], 3 * chain_layer_bytes) << "a bucket of each worker";
  }
}

TEST(PeakMemory, AServerThatSharesKeepsItsShareAlone) {
  HandCosts costs(KindSeconds{});
  costs.forward_peak = 1;
  Case spec = case_of("parameter-server", 5, 6);  // three workers, buckets of a layer
  spec.strategy.parameters = {{"servers", "2"}, {"cut", "tensors"}};
  spec.bucket = Bytes(1);
  const plan::Plan plan = test_plan(spec, 3, 4);
  const plan::ParameterSizes sizes(chain(3));
  std::int64_t all = 0;
  for (const Rank server : plan.servers) {
    const MemoryUsage usage = peak(plan, 3, costs, server.value);
    std::int64_t share = 0;
    for (const plan::ElementRange& range : plan::state_layout(plan, sizes, server).updated) share += 4 * range.count;
    all += share;
    for (const auto category : {MemoryCategory::parameters, MemoryCategory::gradients, MemoryCategory::optimizer,
                                MemoryCategory::communication})
      EXPECT_EQ(usage[category], share);
  }
  EXPECT_EQ(all, 3 * chain_layer_bytes);
  EXPECT_EQ(peak(plan, 3, costs, 0)[MemoryCategory::parameters], 3 * chain_layer_bytes);
}

TEST(PeakMemory, GradientsLiveFromTheFirstBackwardToTheUpdateUnlessAnArenaHoldsThemForReduction) {
  HandCosts costs(KindSeconds{});
  costs.backward_peak = 1000;  // the peak is inside the last backward: those of the other two layers are there
  EXPECT_EQ(peak(test_plan(case_of("sequential", 1, 4), 3), 3, costs, 0)[MemoryCategory::gradients],
            2 * chain_layer_bytes);
  EXPECT_EQ(peak(data_parallel(2, 3), 3, costs, 1)[MemoryCategory::gradients], 3 * chain_layer_bytes);
  EXPECT_EQ(peak(gpipe(3, 1), 3, costs, 1)[MemoryCategory::gradients], 0);
  EXPECT_EQ(peak(gpipe(1, 2), 1, costs, 0)[MemoryCategory::gradients], chain_layer_bytes) << "the second adds to them";
}

TEST(PeakMemory, ATiedTensorCountsOnceOnARankThatHasBothItsLayers) {
  const HandCosts costs(KindSeconds{.update = 1});
  const models::ModelSpec model = tied_chain(3);
  const Sizes sizes(model);
  const auto sum = [&](const Case& spec, MemoryCategory category, int rank) {
    const plan::Plan plan = plan::make_plan(spec, model, std::vector<double>(3, 1.0), 1);
    std::int64_t bytes = 0;
    for (const Allocation& one : allocations(plan, sizes, costs, simulate(plan, costs), Rank(rank)))
      bytes += one.category == category ? one.bytes : 0;
    return bytes;
  };
  using enum MemoryCategory;
  const Case alone = case_of("sequential", 1, 4), replicas = case_of("data-parallel", 2, 4);
  EXPECT_EQ(sum(alone, parameters, 0), 2 * chain_layer_bytes);
  EXPECT_EQ(sum(alone, optimizer, 0), 2 * chain_layer_bytes);
  EXPECT_EQ(sum(alone, gradients, 0), 2 * chain_layer_bytes) << "made by the last layer's backward, added to later";
  EXPECT_EQ(sum(replicas, gradients, 1), 2 * chain_layer_bytes);
  // One device of a pipeline, whose stage is one segment.
  EXPECT_EQ(sum(case_of("gpipe", 1, 4, 2), gradients, 0), 2 * chain_layer_bytes);
  // Of three, the outer ones have the tensor each, and an arena for the sum.
  for (const int rank : {0, 1, 2}) {
    EXPECT_EQ(sum(case_of("1f1b", 3, 4, 4), parameters, rank), chain_layer_bytes);
    EXPECT_EQ(sum(case_of("1f1b", 3, 4, 4), gradients, rank), chain_layer_bytes);
  }
}

TEST(PeakMemory, OfAllRanksIsThatOfEachRank) {
  HandCosts costs(KindSeconds{});
  costs.forward_peak = 1;
  costs.backward_peak = 1000;
  const Sizes sizes(chain(4));
  for (const plan::Plan& plan : {data_parallel(4, 4), gpipe(4, 4), test_plan(case_of("pipedream", 4, 4), 4, 8)}) {
    const plan::Plan window = plan.asynchronous ? plan : plan::unroll(plan, 3);
    const plan::Timeline timeline = simulate(window, costs);
    const std::vector<MemoryUsage> all = peak_memories(window, sizes, costs, timeline, window.spec.np);
    ASSERT_EQ(all.size(), 4u);
    for (int rank = 0; rank < 4; ++rank)
      EXPECT_EQ(all[rank], peak_memory(window, sizes, costs, timeline, Rank(rank))) << rank;
  }
}

TEST(PeakMemory, EveryTensorIsPaddedTo64Bytes) {
  models::ModelSpec model = chain(1);
  model.layers.push_back(models::chain("bn", {{"bn", models::BatchNorm{4}}}));  // weight and bias of 16 bytes
  const plan::Plan plan = plan::make_plan(case_of("sequential", 1, 1), model, std::vector<double>(2, 1.0), 1);
  const HandCosts costs(KindSeconds{});
  EXPECT_EQ(peak_memory(plan, model, costs, simulate(plan, costs), Rank(0))[MemoryCategory::parameters], 3 * 64);
}

TEST(PeakMemory, GpipeKeepsAllMicroBatchesInFlight) {
  HandCosts costs(KindSeconds{});
  costs.saved = 1000;
  costs.backward_peak = 10;
  for (int m = 1; m <= 6; ++m) {
    const plan::Plan plan = gpipe(3, m);
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
  const plan::Plan plan = pipedream(stages, 12);
  for (int rank = 0; rank < stages; ++rank) {
    const MemoryUsage usage = peak(plan, stages, costs, rank);
    EXPECT_EQ(usage[MemoryCategory::activations] / 10'000, stages - rank) << rank;
    EXPECT_EQ(usage[MemoryCategory::weight_versions], (stages - rank - 1) * chain_layer_bytes) << rank;
  }
}

/// What an I keeps for its W, of one sample of a chain's layer.
std::int64_t kept_for_weights(const plan::Plan& plan, int rank) {
  const plan::Op pass = plan.ranks[rank].compute().front();
  return Sizes(chain(static_cast<int>(plan.segments.size()))).kept_for_weights(plan, Rank(rank), pass);
}

// Qi et al., arXiv 2401.10241: M_B from F to I, M_W from I to W.
TEST(PeakMemory, SplitBackwardKeepsAPartUntilTheWeightGradients) {
  constexpr int devices = 4;
  const plan::Plan h1 = pipeline("zb-h1", devices, 16), h2 = pipeline("zb-h2", devices, 16);
  for (int p = 0; p < devices; ++p) {
    const std::int64_t m_b = saved_in_flight + (p > 0 ? sample_bytes : 0), m_w = kept_for_weights(h1, p);
    EXPECT_GT(m_w, 0);
    EXPECT_EQ(peak_activations(h1, p), (devices - p) * m_b + p * m_w) << p;
    EXPECT_EQ(peak_activations(h2, p), (2 * (devices - p) - 1) * m_b + 2 * p * m_w) << p;
  }
}

TEST(PeakMemory, RecomputeKeepsBoundariesAndTheGraphOfOneMicroBatch) {
  for (const int m : {1, 3, 8}) {
    const plan::Plan plan = pipeline("gpipe", 3, m, 2, Recompute::all);
    for (const int p : {1, 2})
      EXPECT_EQ(peak_activations(plan, p), m * sample_bytes + saved_in_flight) << m << ' ' << p;
    // Images wait alike; those of the micro-batch that has its graph back are part of what it saved.
    EXPECT_EQ(peak_activations(plan, 0), (m - 1) * sample_bytes + saved_in_flight) << m;
    const plan::Plan all_but_last = pipeline("gpipe", 3, m, 2, Recompute::except_last);
    EXPECT_EQ(peak_activations(all_but_last, 1) / saved_in_flight, m > 1 ? 2 : 1) << "first recomputed beside the last";
  }
}

TEST(PeakMemory, ACapturedStepHoldsTheImagesOfAllItsMicroBatches) {
  for (const Recompute recompute : {Recompute::none, Recompute::all}) {
    plan::Plan plan = pipeline("1f1b", 1, 3, 2, recompute);
    const std::int64_t eager = peak_activations(plan, 0);
    plan.spec.graph = true;
    EXPECT_EQ(peak_activations(plan, 0) - eager, 2 * sample_bytes);
  }
}

TEST(PeakMemory, CountsWhatIsInFlightInAllStagesOfARank) {
  const auto in_flight = [](const std::string& strategy, int micro_batches) {
    const plan::Plan plan = pipeline(strategy, 4, micro_batches);
    std::vector<std::int64_t> pairs;
    for (int p = 0; p < 4; ++p) pairs.push_back(peak_activations(plan, p) / saved_in_flight);
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
    const plan::Plan plan = pipeline(strategy, 4, 4);
    for (int p = 0; p < 4; ++p) {
      const int layers = static_cast<int>(plan.segments.size());
      EXPECT_EQ(peak(plan, layers, costs, p)[MemoryCategory::parameters], 2 * chain_layer_bytes) << strategy;
    }
  }
}

TEST(PeakMemory, ReportsTheCategoriesOfTheHighestTotal) {
  // Two segments on one rank: the forward's temporaries (500) outweigh the backward's (100) and a gradient of 64.
  HandCosts costs(KindSeconds{});
  costs.saved = 200;
  costs.forward_peak = 500;
  costs.backward_peak = 100;
  const plan::Plan plan = test_plan(case_of("sequential", 1, 1), 2);
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
  EXPECT_EQ(usage.total_counted(), 2 * 2 * chain_layer_bytes + 700);
}

}  // namespace
}  // namespace parabench::analytic
