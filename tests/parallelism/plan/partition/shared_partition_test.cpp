// Cuts for stages that several ranks share, and for ranks with little memory, against all cuts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "base/error.h"
#include "parallelism/plan/partition/partition.h"
#include "parallelism/plan/validate.h"
#include "tests/parallelism/plan/plans.h"

namespace parabench::plan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Calls `visit` with every cut of n layers into k stages, in lexicographic order.
void all_cuts(int n, int k, std::vector<int>& cut, const std::function<void()>& visit) {
  for (int first = k == 1 ? n : 1; first <= n - k + 1; ++first) {
    cut.push_back(first);
    k == 1 ? visit() : all_cuts(n - first, k - 1, cut, visit);
    cut.pop_back();
  }
}

TEST(SharedPartition, IsTheFirstOptimumAmongAllCuts) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  for (int round = 0; round < 200; ++round) {
    const int n = 1 + below(9), k = 1 + below(std::min(n, 4));
    std::vector<double> costs(n);
    for (double& c : costs) c = below(20);
    std::vector<int> widths(k), best, cut;
    for (int& w : widths) w = 1 << below(3);  // exact quotients
    double least = 0;
    all_cuts(n, k, cut, [&] {
      double worst = 0;
      for (int s = 0, i = 0; s < k; i += cut[s++]) {
        worst = std::max(worst, std::accumulate(&costs[i], &costs[i] + cut[s], 0.0) / widths[s]);
      }
      if (best.empty() || worst < least) least = worst, best = cut;
    });
    EXPECT_EQ(shared_partition(costs, widths), best) << "round " << round;
  }
}

TEST(MemoryLimitedPartition, CountsEntriesAndPassingBytesOfEachStage) {
  std::mt19937 random(8);
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    const int n = 1 + below(8), k = 1 + below(std::min(n, 4));
    std::vector<double> costs(n);
    std::vector<LayerBytes> layers(n);
    for (double& c : costs) c = below(20);
    for (LayerBytes& l : layers) l = {below(20), below(10), below(30), below(30)};
    std::vector<int> in_flight(k), best, cut;
    for (int& f : in_flight) f = 1 + below(4);
    const MemoryLimit limit{layers, in_flight, 100};
    double least = 0;
    all_cuts(n, k, cut, [&] {
      double worst = 0;
      for (int s = 0, i = 0; s < k; i += cut[s++]) {
        std::int64_t bytes = i == 0 ? 0 : std::max(in_flight[s], in_flight[s - 1]) * layers[i].entry, passing = 0;
        for (int l = i; l < i + cut[s]; ++l) {
          bytes += layers[l].fixed + in_flight[s] * layers[l].in_flight;
          passing = std::max(passing, layers[l].passing);
        }
        if (bytes + passing > limit.bytes) return;
        worst = std::max(worst, std::accumulate(&costs[i], &costs[i] + cut[s], 0.0));
      }
      if (best.empty() || worst < least) least = worst, best = cut;
    });
    if (best.empty()) {
      ++refused;
      EXPECT_THROW(memory_limited_partition(costs, limit), Error);
    } else {
      EXPECT_EQ(memory_limited_partition(costs, limit), best) << "round " << round;
    }
  }
  EXPECT_GT(refused, 20);
  EXPECT_LT(refused, 280);
}

Case pipedream(const std::string& replicas, int np) {
  Case spec = case_of("pipedream", np, 4);
  if (!replicas.empty()) spec.strategy.parameters = {{"replicas", replicas}};
  return spec;
}

/// Four layers of equal time; weights and activations of so many bytes each.
Profile four_layers(std::int64_t weights, std::int64_t activations) {
  Profile profile(std::vector<double>(4, 1.0));
  profile.sizes.assign(4, {.weights = weights, .output = activations});
  profile.link_bytes_per_s = 1;
  return profile;
}

TEST(PipeDream, CutsForTheWidthsOfItsStages) {
  EXPECT_THAT(partition(make_plan(pipedream("3-1", 4), chain_model(4), std::vector<double>(4, 1.0), 4)),
              ElementsAre(3, 1));
  EXPECT_THAT(partition(make_plan(pipedream("1-3", 4), chain_model(4), std::vector<double>(4, 1.0), 4)),
              ElementsAre(1, 3));
}

TEST(PipeDream, PlansItsReplicas) {
  const auto planned = [](const Profile& profile) {
    const Plan plan = make_plan(pipedream("auto", 4), chain_model(4), profile, 8);
    EXPECT_TRUE(validate(plan).empty());
    std::vector<int> widths;
    for (StageId s; s.value < plan.stages; ++s) widths.push_back(static_cast<int>(holders(plan, s).size()));
    return widths;
  };
  EXPECT_THAT(planned(four_layers(0, 100)), ElementsAre(4));           // weights cost nothing: data parallelism
  EXPECT_THAT(planned(four_layers(100, 0)), ElementsAre(1, 1, 1, 1));  // activations do not: one rank each
  Profile mixed = four_layers(0, 0);
  mixed.sizes[3].weights = 100;
  EXPECT_THAT(planned(mixed), ElementsAre(3, 1));
}

TEST(PipeDream, PlansItsReplicasByTheRateOfTheirSums) {
  Profile profile = four_layers(10, 0);
  profile.seconds.back() = 2;
  const auto stages = [&] { return make_plan(pipedream("auto", 2), chain_model(4), profile, 4).stages; };
  EXPECT_EQ(stages(), 2) << "sums of 40 bytes take 40 s";
  profile.ring_bytes_per_s = {20};
  EXPECT_EQ(stages(), 1) << "2 s, less than the 5 s of the passes";
}

// The update of the last layer counts in each of the micro-batches before it: 1, 1, 1, 1 + 4/M.
TEST(PartitionTime, CountsTheUpdateOfAStep) {
  Profile profile(std::vector<double>(4, 1.0));
  profile.update_seconds = {0, 0, 0, 4};
  profile.sizes.assign(4, {});
  const auto cut = [&](Case spec) { return partition(make_plan(spec, chain_model(4), profile, 4)); };
  const auto of = [&](const char* strategy, int micro) { return cut(case_of(strategy, 2, 8, micro)); };
  for (const char* strategy : {"gpipe", "1f1b", "zb-h1", "pipedream-2bw"}) {
    EXPECT_THAT(of(strategy, 2), ElementsAre(3, 1)) << strategy;
    EXPECT_THAT(of(strategy, 8), ElementsAre(2, 2)) << strategy;
  }
  EXPECT_THAT(of("gpipe", 4), ElementsAre(2, 2));
  EXPECT_THAT(of("chimera", 4), ElementsAre(3, 1)) << "each of two ranks updates after half of the micro-batches";
  EXPECT_THAT(of("model-parallel", Case{}.micro), ElementsAre(3, 1));
  EXPECT_THAT(of("pipedream", Case{}.micro), ElementsAre(3, 1)) << "updates after every mini-batch";
  Case in_memory = case_of("1f1b", 2, 8, 2);
  in_memory.partition = PartitionRule::memory;
  in_memory.memory = Bytes(1000);
  EXPECT_THAT(cut(in_memory), ElementsAre(3, 1));

  // Layers whose sums take so long that each of two ranks has a stage to itself.
  profile.sizes.assign(4, {.weights = 100});
  profile.link_bytes_per_s = 1;
  profile.update_seconds = {0, 0, 0, 2};
  EXPECT_THAT(cut(pipedream("auto", 2)), ElementsAre(3, 1));
  profile.update_seconds.clear();
  EXPECT_THAT(cut(pipedream("auto", 2)), ElementsAre(2, 2));
}

TEST(PipeDream, PlansUnderALimitAsToldBySync) {
  Case spec = pipedream("auto", 2);
  spec.partition = PartitionRule::memory;
  Profile profile = four_layers(10, 0);
  profile.seconds.assign(4, 100.0);
  spec.memory = Bytes(1000);
  EXPECT_EQ(make_plan(spec, chain_model(4), profile, 4).stages, 1);
  spec.memory = Bytes(30);  // of 40 bytes of weights
  EXPECT_EQ(make_plan(spec, chain_model(4), profile, 4).stages, 2);
  spec.memory = Bytes(15);
  EXPECT_THROW(make_plan(spec, chain_model(4), profile, 4), Error);

  // Replicas that wait for their sum: 2 (m - 1) w / (m B) = 20 s of a ring, twice as long in SOSP's formula. The
  // pipeline hands 15 bytes over, there and back, in 30 s.
  spec = pipedream("auto", 2);
  profile = four_layers(5, 15);
  EXPECT_EQ(make_plan(spec, chain_model(4), profile, 4).stages, 1);
  spec.strategy.parameters.emplace_back("sync", "sosp");
  profile.sizes[1].output = 9;
  EXPECT_EQ(make_plan(spec, chain_model(4), profile, 4).stages, 2);
}

TEST(PartitionMemory, MovesLayersAwayFromWhereManyMicroBatchesWait) {
  Case spec = case_of("1f1b", 2, 8);
  spec.partition = PartitionRule::memory;
  Profile profile(std::vector<double>(6, 1.0));
  profile.sizes.assign(6, {.saved = 10});
  const auto cut = [&](std::int64_t limit) {
    spec.memory = Bytes(limit);
    return partition(make_plan(spec, chain_model(6), profile, 1));
  };
  EXPECT_THAT(cut(60), ElementsAre(3, 3));  // two micro-batches in flight on the first stage, one on the second
  EXPECT_THAT(cut(50), ElementsAre(2, 4));
  EXPECT_THROW(cut(39), Error);
}

std::string refusal(Case spec, const Profile& profile = {}) {
  try {
    make_plan(spec, chain_model(4), profile, 4);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no error";
}

TEST(Planned, SaysWhatItLacks) {
  Case spec = case_of("gpipe", 2, 8);
  spec.partition = PartitionRule::memory;
  EXPECT_THAT(refusal(spec), AllOf(HasSubstr("partition"), HasSubstr("the key memory"), HasSubstr("memory:8GiB")));
  spec.memory = Bytes(1000);
  EXPECT_THAT(refusal(spec), AllOf(HasSubstr("'memory'"), HasSubstr("a time for each of the 4 layers")));
  EXPECT_THAT(refusal(spec, std::vector<double>(4, 1.0)), HasSubstr("bytes for each of the 4 layers"));
  spec.strategy.name = "zb-v";
  EXPECT_THAT(refusal(spec), AllOf(HasSubstr("one stage per rank"), HasSubstr("recompute:auto")));
  spec = case_of("gpipe", 2, 8);
  spec.memory = Bytes(1000);
  EXPECT_THAT(refusal(spec), AllOf(HasSubstr("memory"), HasSubstr("nothing else reads the key")));
  spec.memory.reset();
  spec.recompute = Recompute::automatic;
  EXPECT_THAT(refusal(spec), AllOf(HasSubstr("recompute"), HasSubstr("'auto'"), HasSubstr("the key memory")));

  EXPECT_THAT(refusal(pipedream("auto", 4)), HasSubstr("bytes for each of the 4 layers"));
  EXPECT_THAT(refusal(pipedream("automatic", 4)), AllOf(HasSubstr("'automatic'"), HasSubstr("auto, or")));
  spec = pipedream("auto", 4);
  spec.partition = PartitionRule::uniform;
  EXPECT_THAT(refusal(spec), AllOf(HasSubstr("'uniform'"), HasSubstr("replicas=auto")));
  spec = pipedream("3-1", 4);
  spec.strategy.parameters.push_back({"sync", "xp"});
  EXPECT_THAT(refusal(spec), AllOf(HasSubstr("sync"), HasSubstr("'xp'"), HasSubstr("replicas=auto")));
  spec = pipedream("auto", 4);
  spec.strategy.parameters.push_back({"sync", "star"});
  EXPECT_THAT(refusal(spec), AllOf(HasSubstr("'star'"), HasSubstr("ring, xp, sosp, code")));
}

}  // namespace
}  // namespace parabench::plan
