// Seconds and highest memory to write, check and simulate large pipelines.
#include <benchmark/benchmark.h>

#include <string>

#include "analytic/costs/costs.h"
#include "analytic/simulate/simulate.h"
#include "parallelism/plan/strategies/strategies.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "parallelism/plan/validate.h"
#include "tests/benchmarks/peak_memory.h"

namespace parabench {
namespace {

models::ModelSpec chain_of(int layers) {
  models::ModelSpec model{.name = "chain", .input = {4}, .classes = 4, .layers = {}};
  for (int l = 0; l < layers; ++l) {
    const std::string name = "layer" + std::to_string(l);
    model.layers.push_back(models::chain(name, {{name, models::Linear{4, 4}}}));
  }
  return model;
}

/// A case with a sample per micro-batch over a chain with a layer per stage.
struct Pipeline {
  Case spec;
  models::ModelSpec model;
};
Pipeline pipeline(const std::string& strategy, int devices, int micro_batches) {
  Case spec;
  spec.strategy.name = strategy;
  spec.np = devices;
  spec.micro = spec.batch = micro_batches;
  spec.partition = PartitionRule::uniform;
  return {spec, chain_of(plan::find_strategy(strategy).stages(spec))};
}

/// Runs `body` on plans of P = range(0) devices and M = range(1) micro-batches; writing them counts.
template <class Body>
void measure(benchmark::State& state, const std::string& strategy, Body body) {
  const int devices = static_cast<int>(state.range(0)), micro_batches = static_cast<int>(state.range(1));
  const Pipeline subject = pipeline(strategy, devices, micro_batches);
  start_peak();
  for (auto _ : state) body(plan::make_plan(subject.spec, subject.model, {}, 1));
  state.counters["peak_bytes"] = peak_bytes();
}

void write(benchmark::State& state, const std::string& strategy) {
  measure(state, strategy, [](const plan::Plan& plan) { benchmark::DoNotOptimize(&plan); });
}
void write_and_validate(benchmark::State& state, const std::string& strategy) {
  measure(state, strategy, [](const plan::Plan& plan) { plan::require_valid(plan); });
}
void write_and_simulate(benchmark::State& state, const std::string& strategy) {
  measure(state, strategy, [&](const plan::Plan& plan) {
    state.counters["makespan"] = plan::makespan(analytic::simulate(plan, *analytic::unit_costs().time));
  });
}
/// On two cores, over the steps of a run.
void write_and_simulate_shared(benchmark::State& state, const std::string& strategy) {
  measure(state, strategy, [&](const plan::Plan& plan) {
    const analytic::Sizes sizes(chain_of(plan.stages));
    const analytic::Costs costs = analytic::data_sheet_costs({.cores = 2}, sizes);
    state.counters["makespan"] = plan::makespan(analytic::simulate(plan::unroll(plan, 25), *costs.time));
  });
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({64, 512})->Args({1024, 4096})->Unit(benchmark::kMillisecond);
}
void small(benchmark::internal::Benchmark* benchmark) { benchmark->Args({64, 512})->Unit(benchmark::kMillisecond); }

BENCHMARK_CAPTURE(write, one_forward_one_backward, "1f1b")->Apply(sizes);
BENCHMARK_CAPTURE(write, zero_bubble_v, "zb-v")->Apply(small);
BENCHMARK_CAPTURE(write_and_validate, one_forward_one_backward, "1f1b")->Apply(small);
BENCHMARK_CAPTURE(write_and_validate, zero_bubble_v, "zb-v")->Apply(small);
BENCHMARK_CAPTURE(write_and_simulate, one_forward_one_backward, "1f1b")->Apply(sizes);
BENCHMARK_CAPTURE(write_and_simulate, zero_bubble_v, "zb-v")->Apply(small);
BENCHMARK_CAPTURE(write_and_simulate_shared, one_forward_one_backward, "1f1b")
    ->Args({128, 128})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace parabench

BENCHMARK_MAIN();
