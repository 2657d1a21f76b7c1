#include "parallelism/plan/partition/pipedream_planner.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "base/error.h"

namespace parabench::plan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr SyncModel all_models[] = {SyncModel::ring, SyncModel::preprint, SyncModel::sosp, SyncModel::code};
using Stages = std::vector<ReplicatedStage>;

/// Calls `visit` with every way to give layers from `begin` to stages of 1 to `devices` devices, all used, in
/// lexicographic order of (layers, replicas).
void every_plan(int layers, int devices, Stages& plan, const std::function<void()>& visit) {
  if (layers == 0 || devices == 0) {
    if (layers == 0 && devices == 0) visit();
    return;
  }
  for (int size = 1; size <= layers; ++size) {
    for (int replicas = 1; replicas <= devices; ++replicas) {
      plan.push_back({size, replicas});
      every_plan(layers - size, devices - replicas, plan, visit);
      plan.pop_back();
    }
  }
}

struct Answer {
  double period = std::numeric_limits<double>::infinity();
  Stages stages;
};

/// All plans of the layers in [begin, end) on one level's components, the level's own recursion included.
Answer by_force(const ReplicationProblem& problem, int level, int begin, int end) {
  const TopologyLevel& topology = problem.levels[level];
  Answer best;
  Stages plan;
  every_plan(end - begin, topology.components, plan, [&] {
    double period = 0;
    int first = begin, left = topology.components;
    for (const ReplicatedStage& stage : plan) {
      StageLoad load{0, 0, first == begin ? 0 : problem.layers[first - 1].output_bytes};
      std::int64_t bytes = 0;
      for (int i = first; i < first + stage.layers; ++i) {
        load.seconds += problem.layers[i].seconds;
        load.weight_bytes += problem.layers[i].weight_bytes;
        const LayerBytes& memory = problem.layers[i].memory;
        bytes += memory.fixed + (left + stage.replicas - 1) / stage.replicas * memory.in_flight;
      }
      if (level > 0) load.seconds = by_force(problem, level - 1, first, first + stage.layers).period;
      ReplicaLink link{topology.bytes_per_s, problem.sync};
      if (stage.replicas > 1 && !topology.sum_bytes_per_s.empty())
        link.sum_bytes_per_s = topology.sum_bytes_per_s[stage.replicas - 2];
      period = std::max(period, stage_period(load, stage.replicas, link));
      if (problem.device_bytes && bytes > *problem.device_bytes) return;
      first += stage.layers;
      left -= stage.replicas;
    }
    if (period < best.period || (period == best.period && plan.size() < best.stages.size())) best = {period, plan};
  });
  return best;
}

/// Whole seconds, so that sums do not round and many plans tie.
ReplicationProblem random_problem(std::mt19937& random, int layers, std::vector<TopologyLevel> levels, SyncModel sync) {
  std::uniform_int_distribution<int> amount(0, 9);
  ReplicationProblem problem{.levels = std::move(levels), .sync = sync};
  for (int i = 0; i < layers; ++i) {
    problem.layers.push_back({amount(random) * 1.0, amount(random), amount(random), {amount(random), amount(random)}});
  }
  return problem;
}

TEST(PipedreamPlanner, FindsWhatBruteForceFinds) {
  std::mt19937 random(1);
  for (int layers = 1; layers <= 12; ++layers) {
    for (int devices = 1; devices <= 6; ++devices) {
      for (SyncModel sync : all_models) {
        const auto problem = random_problem(random, layers, {{devices, 1.0 + devices}}, sync);
        const ReplicationPlan plan = plan_replication(problem);
        const Answer expected = by_force(problem, 0, 0, layers);
        EXPECT_EQ(plan.period_s, expected.period) << layers << " layers, " << devices << " devices";
        EXPECT_EQ(plan.stages, expected.stages) << layers << " layers, " << devices << " devices";
      }
    }
  }
}

TEST(PipedreamPlanner, FindsWhatBruteForceFindsWhereSumsAmongSomeAreSlower) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> rate(1, 4);
  for (int round = 0; round < 300; ++round) {
    const int layers = 1 + round % 10, devices = 1 + round % 6;
    TopologyLevel level{devices, 4};
    for (int m = 2; m <= devices; ++m) level.sum_bytes_per_s.push_back(rate(random));
    const auto problem = random_problem(random, layers, {level}, all_models[round % 4]);
    const ReplicationPlan plan = plan_replication(problem);
    const Answer expected = by_force(problem, 0, 0, layers);
    EXPECT_EQ(plan.period_s, expected.period) << "round " << round;
    EXPECT_EQ(plan.stages, expected.stages) << "round " << round;
  }
}

TEST(PipedreamPlanner, FindsWhatBruteForceFindsUnderAMemoryLimit) {
  std::mt19937 random(2);
  int limited = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    const int layers = 1 + round % 10, devices = 1 + round % 6;
    auto problem = random_problem(random, layers, {{devices, 2}}, all_models[round % 4]);
    const Answer free = by_force(problem, 0, 0, layers);
    problem.device_bytes = std::uniform_int_distribution<int>(5, 15 * layers)(random);
    const Answer expected = by_force(problem, 0, 0, layers);
    if (expected.stages.empty()) {
      ++refused;
      EXPECT_THROW(plan_replication(problem), Error);
      continue;
    }
    limited += expected.stages != free.stages;
    const ReplicationPlan plan = plan_replication(problem);
    EXPECT_EQ(plan.period_s, expected.period) << "round " << round;
    EXPECT_EQ(plan.stages, expected.stages) << "round " << round;
  }
  EXPECT_GT(limited, 30);
  EXPECT_GT(refused, 30);
}

TEST(PipedreamPlanner, FindsWhatBruteForceFindsOnTwoAndThreeLevels) {
  std::mt19937 random(3);
  for (const auto& levels : std::vector<std::vector<TopologyLevel>>{
           {{2, 8}, {3, 2}}, {{3, 8}, {2, 1}}, {{4, 4}, {2, 2}}, {{1, 4}, {4, 2}}, {{2, 8}, {2, 4}, {2, 1}}}) {
    for (int layers = 1; layers <= 6; ++layers) {
      for (SyncModel sync : all_models) {
        const auto problem = random_problem(random, layers, levels, sync);
        const ReplicationPlan plan = plan_replication(problem);
        const int outermost = static_cast<int>(levels.size()) - 1;
        EXPECT_EQ(plan.period_s, by_force(problem, outermost, 0, layers).period);

        int devices = 1, planned_layers = 0, planned_devices = 0;
        for (const TopologyLevel& level : levels) devices *= level.components;
        for (const ReplicatedStage& stage : plan.stages) {
          planned_layers += stage.layers;
          planned_devices += stage.replicas;
        }
        EXPECT_EQ(planned_layers, layers);
        EXPECT_EQ(planned_devices, devices);
      }
    }
  }
}

// Below the outermost level the recurrence is computed as it stands: with one component around it, the same problem.
TEST(PipedreamPlanner, SearchesToTheLastBitOfTheRecurrence) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> seconds(1e-3, 1e-2);
  std::uniform_int_distribution<std::int64_t> bytes(0, 10'000'000);
  int pipelines = 0;
  for (int round = 0; round < 40; ++round) {
    ReplicationProblem problem{.levels = {{23, 1e9 + 1e8 * round}}, .sync = all_models[round % 4]};
    for (int i = 0; i < 19; ++i) problem.layers.push_back({seconds(random), bytes(random) / 4, bytes(random)});
    const ReplicationPlan searched = plan_replication(problem);
    problem.levels.push_back({1, 1});
    const ReplicationPlan computed = plan_replication(problem);
    EXPECT_EQ(searched.period_s, computed.period_s) << "round " << round;
    EXPECT_EQ(searched.stages, computed.stages) << "round " << round;
    pipelines += searched.stages.size() > 1;
  }
  EXPECT_GT(pipelines, 20);
}

// Two nodes of two devices, each with a model of its own. A fast link within the node: data parallel throughout. On a
// slow one the weights' sum (200 bytes, 25 s) costs more than the activations (10 s): a pipeline in each node.
TEST(PipedreamPlanner, ReplicatesThePipelineOfANode) {
  ReplicationProblem problem{.layers = {{10, 40, 100}, {10, 0, 100}}, .levels = {{2, 1000}, {2, 20}}};
  EXPECT_EQ(plan_replication(problem).stages, Stages({{2, 4}}));
  problem.levels[0].bytes_per_s = 8;
  const ReplicationPlan plan = plan_replication(problem);
  EXPECT_EQ(plan.stages, Stages({{1, 2}, {1, 2}}));
  EXPECT_DOUBLE_EQ(plan.period_s, 5);
}

TEST(PipedreamPlanner, PricesDataParallelismOverAllLevels) {
  const ReplicationProblem problem{.layers = {{12, 0, 60}}, .levels = {{2, 10}, {2, 1}}};
  EXPECT_DOUBLE_EQ(plan_replication(problem).data_parallel_period_s, 30);  // within a node 12/2 = 6, sums 60, then / 2
}

TEST(PipedreamPlanner, NamesTheSmallestLimitThatHasAPlan) {
  // One device each, with 2 and 1 mini-batches in flight: 2 + 2*10 and 3 + 10; one stage of both: 5 + 20.
  ReplicationProblem problem{.layers = {{1, 0, 0, {2, 10}}, {1, 0, 0, {3, 10}}}, .levels = {{2, 1}}};
  problem.device_bytes = 21;
  try {
    plan_replication(problem);
    FAIL() << "planned";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("memory: got '21'"), HasSubstr("at least 22 bytes"), HasSubstr("2 devices")));
  }
  problem.device_bytes = 22;
  EXPECT_EQ(plan_replication(problem).stages, Stages({{1, 1}, {1, 1}}));
}

TEST(PipedreamPlanner, RefusesAMemoryLimitOnSeveralLevels) {
  const ReplicationProblem problem{.layers = {{1, 0, 0}}, .levels = {{2, 1}, {2, 1}}, .device_bytes = 100};
  EXPECT_THROW(plan_replication(problem), Error);
}

// PipeDream's profile of VGG-16, batch 128, fp32 (forward + backward in milliseconds; ReLU and dropout with the layer
// before); activations and weights follow from the shapes.
std::vector<PlannerLayer> vgg16() {
  constexpr double milliseconds[] = {56.9, 169.3, 9.4, 59.9, 80.6, 5.0,  31.9, 47.6, 51.0, 2.7, 25.5,
                                     38.8, 42.0,  1.6, 14.0, 12.1, 13.3, .8,   7.5,  1.8,  .9};
  constexpr int pool = 0, batch = 128, float_bytes = 4;
  std::vector<PlannerLayer> layers;
  std::int64_t channels = 3, side = 224;
  auto add = [&](std::int64_t values, std::int64_t weights) {
    layers.push_back({milliseconds[layers.size()] / 1000, batch * values * float_bytes, weights * float_bytes});
  };
  for (int out : {64, 64, pool, 128, 128, pool, 256, 256, 256, pool, 512, 512, 512, pool, 512, 512, 512, pool}) {
    if (out == pool) {
      side /= 2;
      add(channels * side * side, 0);
    } else {
      add(out * side * side, out * (channels * 9 + 1));
      channels = out;
    }
  }
  std::int64_t in = channels * side * side;
  for (int out : {4096, 4096, 1000}) {
    add(out, out * (in + 1));
    in = out;
  }
  return layers;
}

struct Published {
  SyncModel sync;
  int workers;
  Stages stages;
  double gain;
};

class Vgg16 : public testing::TestWithParam<Published> {};

TEST(Vgg16Profile, HasThePublishedWeights) {
  std::int64_t weights = 0;
  for (const PlannerLayer& layer : vgg16()) weights += layer.weight_bytes;
  EXPECT_NEAR(static_cast<double>(weights), 553.4e6, 0.05e6);
}

TEST_P(Vgg16, OnTenGigabitEthernetIsPlannedAsPublished) {
  const Published& published = GetParam();
  const ReplicationPlan plan =
      plan_replication({.layers = vgg16(), .levels = {{published.workers, 1.25e9}}, .sync = published.sync});
  EXPECT_EQ(plan.stages, published.stages);
  EXPECT_NEAR(plan.data_parallel_period_s / plan.period_s, published.gain, 0.006 * published.gain);
}

// Pools 2 to 5 are layers 6, 10, 14 and 18, counted from one.
INSTANTIATE_TEST_SUITE_P(PipedreamPlanner, Vgg16,
                         testing::Values(Published{SyncModel::ring, 2, {{21, 2}}, 1},
                                         Published{SyncModel::ring, 4, {{21, 4}}, 1},
                                         Published{SyncModel::ring, 8, {{14, 7}, {7, 1}}, 1.09},
                                         Published{SyncModel::ring, 16, {{18, 15}, {3, 1}}, 1.17},
                                         Published{SyncModel::preprint, 2, {{6, 1}, {15, 1}}, 1.16},
                                         Published{SyncModel::preprint, 4, {{10, 3}, {11, 1}}, 1.94},
                                         Published{SyncModel::preprint, 8, {{14, 7}, {7, 1}}, 2.18},
                                         Published{SyncModel::preprint, 16, {{18, 15}, {3, 1}}, 2.35},
                                         Published{SyncModel::sosp, 2, {{6, 1}, {15, 1}}, 1.16},
                                         Published{SyncModel::sosp, 4, {{10, 3}, {11, 1}}, 3.87},
                                         Published{SyncModel::sosp, 8, {{14, 7}, {7, 1}}, 8.72},
                                         Published{SyncModel::sosp, 16, {{14, 15}, {7, 1}}, 10.1},
                                         Published{SyncModel::code, 2, {{6, 1}, {15, 1}}, 2.04},
                                         Published{SyncModel::code, 4, {{10, 3}, {11, 1}}, 2.84},
                                         Published{SyncModel::code, 8, {{14, 7}, {7, 1}}, 2.75},
                                         Published{SyncModel::code, 16, {{14, 13}, {4, 2}, {3, 1}}, 2.66}));

TEST(PipedreamPlanner, GivesTheKnownPeriodsOfVgg16) {
  auto period = [](int workers) { return plan_replication({vgg16(), {{workers, 1.25e9}}}).period_s; };
  EXPECT_NEAR(period(4), 168.2e-3, 0.06e-3);
  EXPECT_NEAR(period(8), 88.9e-3, 0.05e-3);
  EXPECT_NEAR(period(16), 44.2e-3, 0.05e-3);
}

TEST(PipedreamPlanner, AnswersDataParallelismOnAFastLink) {
  for (SyncModel sync : {SyncModel::ring, SyncModel::preprint}) {
    for (int workers : {2, 4, 8, 16}) {
      const ReplicationPlan plan = plan_replication({vgg16(), {{workers, 12e9}}, sync});
      EXPECT_EQ(plan.stages, Stages({{21, workers}}));
      EXPECT_EQ(plan.period_s, plan.data_parallel_period_s);
    }
  }
}

}  // namespace
}  // namespace parabench::plan
