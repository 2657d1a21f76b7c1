// Seconds to cut a chain of layers: min-max, under a memory limit, and PipeDream's planner.
#include <benchmark/benchmark.h>

#include <random>

#include "parallelism/plan/partition/partition.h"
#include "parallelism/plan/partition/pipedream_planner.h"

namespace parabench {
namespace {

std::vector<double> random_costs(int layers) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> seconds(1e-3, 10e-3);
  std::vector<double> costs(layers);
  for (double& cost : costs) cost = seconds(random);
  return costs;
}

void min_max(benchmark::State& state) {
  const auto costs = random_costs(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(plan::min_max_partition(costs, static_cast<int>(state.range(1))));
}

void memory_limited(benchmark::State& state) {
  const auto costs = random_costs(static_cast<int>(state.range(0)));
  const int stages = static_cast<int>(state.range(1));
  std::vector<plan::LayerBytes> bytes;
  for (double cost : costs) bytes.push_back({1000, static_cast<std::int64_t>(cost * 1e4)});
  std::vector<int> in_flight;
  for (int stage = 0; stage < stages; ++stage) in_flight.push_back(stages - stage);
  const plan::MemoryLimit limit{bytes, in_flight, 200'000};
  for (auto _ : state) benchmark::DoNotOptimize(plan::memory_limited_partition(costs, limit));
}

/// A chain like a convolution net's: activations shrink and weights grow with depth.
plan::ReplicationProblem chain(std::vector<plan::TopologyLevel> levels, plan::SyncModel sync) {
  constexpr int layers = 152;
  plan::ReplicationProblem problem{.levels = std::move(levels), .sync = sync};
  for (double seconds : random_costs(layers)) {
    const auto depth = static_cast<std::int64_t>(problem.layers.size());
    const std::int64_t output = 200'000'000 / (depth + 1), weights = 200'000 * (depth + 1);
    problem.layers.push_back({seconds, output, weights, {3 * weights, output}});
  }
  return problem;
}

void planner(benchmark::State& state, const plan::ReplicationProblem& problem) {
  for (auto _ : state) {
    const plan::ReplicationPlan plan = plan::plan_replication(problem);
    state.counters["stages"] = static_cast<double>(plan.stages.size());
    state.counters["gain"] = plan.data_parallel_period_s / plan.period_s;
  }
}

plan::ReplicationProblem limited(plan::ReplicationProblem problem) {
  problem.device_bytes = 4'000'000'000;
  return problem;
}

const std::vector<plan::TopologyLevel> flat = {{1024, 1.25e9}}, nodes = {{8, 12e9}, {128, 1.25e9}};

BENCHMARK(min_max)->Args({152, 64})->Args({2000, 1024})->Unit(benchmark::kMillisecond);
BENCHMARK(memory_limited)->Args({152, 64})->Args({2000, 1024})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(planner, ring, chain(flat, plan::SyncModel::ring))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(planner, preprint, chain(flat, plan::SyncModel::preprint))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(planner, sosp, chain(flat, plan::SyncModel::sosp))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(planner, code, chain(flat, plan::SyncModel::code))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(planner, ring_limited, limited(chain(flat, plan::SyncModel::ring)))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(planner, ring_128_nodes_of_8, chain(nodes, plan::SyncModel::ring))->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace parabench

BENCHMARK_MAIN();
