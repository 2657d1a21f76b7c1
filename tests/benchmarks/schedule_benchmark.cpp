// Seconds and highest memory to write, check and simulate large pipelines.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <fstream>
#include <string>

#include "analytic/simulate.h"
#include "parallelism/plan/strategies.h"
#include "parallelism/plan/validate.h"

namespace parabench {
namespace {

ModelSpec chain(int layers) {
  ModelSpec model{.name = "chain", .input = {4, 1, 1}, .classes = 4, .layers = {}};
  for (int l = 0; l < layers; ++l) {
    const std::string name = "layer" + std::to_string(l);
    model.layers.push_back({.name = name, .body = {{name, Linear{4, 4}}}, .residual = false, .shortcut = {}});
  }
  return model;
}

/// A case with a sample per micro-batch over a chain with a layer per stage.
struct Pipeline {
  Case spec;
  ModelSpec model;
};
Pipeline pipeline(const std::string& strategy, int devices, int micro_batches, int chunks) {
  Case spec;
  spec.strategy.name = strategy;
  spec.np = devices;
  spec.micro = spec.batch = micro_batches;
  spec.partition = PartitionRule::uniform;
  return {spec, chain(devices * chunks)};
}
Plan plan_of(const Pipeline& p) { return make_plan(p.spec, p.model, {}, 1); }

/// The process' highest resident set since start_peak(), in bytes (Linux).
void start_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}
double peak_bytes() {
  std::ifstream status("/proc/self/status");
  std::string field;
  while (status >> field && field != "VmHWM:") {
  }
  double kibibytes = 0;
  status >> kibibytes;
  return 1024 * kibibytes;
}

void write_and_validate(benchmark::State& state, const std::string& strategy, int chunks) {
  const Pipeline p = pipeline(strategy, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), chunks);
  start_peak();
  for (auto _ : state) require_valid(plan_of(p));
  state.counters["peak_bytes"] = peak_bytes();
}

void write_and_simulate(benchmark::State& state, const std::string& strategy, int chunks) {
  const Pipeline p = pipeline(strategy, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), chunks);
  start_peak();
  for (auto _ : state) state.counters["makespan"] = makespan(simulate(plan_of(p), *unit_costs()));
  state.counters["peak_bytes"] = peak_bytes();
}

void only_write(benchmark::State& state, const std::string& strategy, int chunks) {
  const Pipeline p = pipeline(strategy, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), chunks);
  start_peak();
  for (auto _ : state) benchmark::DoNotOptimize(plan_of(p));
  state.counters["peak_bytes"] = peak_bytes();
}

BENCHMARK_CAPTURE(write_and_validate, one_f_one_b, "1f1b", 1)->Args({64, 512})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_and_validate, zb_v, "zb-v", 2)->Args({64, 512})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(only_write, one_f_one_b, "1f1b", 1)->Args({64, 512})->Args({1024, 4096})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(only_write, zb_v, "zb-v", 2)->Args({64, 512})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_and_simulate, one_f_one_b, "1f1b", 1)
    ->Args({64, 512})
    ->Args({1024, 4096})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace parabench

BENCHMARK_MAIN();
