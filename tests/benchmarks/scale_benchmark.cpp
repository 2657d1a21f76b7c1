// Seconds and highest memory to predict large cases, and to advise, from the data sheet; commands add their start and
// their output.
#include <benchmark/benchmark.h>

#include <string>

#include "base/case_id.h"
#include "suite/advise/advise.h"
#include "suite/machine/knowledge.h"
#include "suite/run/outlook.h"
#include "tests/benchmarks/peak_memory.h"

namespace parabench::suite {
namespace {

void predict(benchmark::State& state, const std::string& id) {
  const Knowledge knowledge{known_machine()};
  start_peak();
  for (auto _ : state) {
    const Outlook outlook = make_outlook({.spec = parse_case(id), .id = id}, knowledge);
    state.counters["step_s"] = outlook.forecast.predicted.step_time_s;
    state.counters["ranks"] = static_cast<double>(outlook.forecast.predicted.ranks.size());
  }
  state.counters["peak_bytes"] = peak_bytes();
}

/// All strategies, meshes, micro-batch counts and kinds of recomputation for a question.
void advise_on(benchmark::State& state, const std::string& id) {
  const Knowledge knowledge{known_machine()};
  start_peak();
  for (auto _ : state) {
    const Advice advice = advise({.spec = parse_case(id)}, knowledge);
    state.counters["possible"] = advice.possible;
    state.counters["simulated"] = advice.simulated;
  }
  state.counters["peak_bytes"] = peak_bytes();
}

/// A stage per rank and as many micro-batches as stages.
void pipeline(benchmark::State& state, const std::string& strategy, const std::string& keys) {
  const std::string n = std::to_string(state.range(0)), twice = std::to_string(2 * state.range(0));
  predict(state, "mlp[layers=" + twice + "]/cifar10-synthetic/" + strategy + "/np:" + n + "/batch:" + twice +
                     "/micro:" + n + keys);
}

void pipelines(benchmark::internal::Benchmark* benchmark) {
  benchmark->RangeMultiplier(2)->Range(32, 1024)->Unit(benchmark::kMillisecond)->MinTime(0.1);
}
void one(benchmark::internal::Benchmark* benchmark) { benchmark->Unit(benchmark::kMillisecond)->MinTime(0.1); }

BENCHMARK_CAPTURE(pipeline, one_forward_one_backward, "1f1b", "")->Apply(pipelines);
BENCHMARK_CAPTURE(pipeline, on_gpus, "1f1b", "/device:cuda")->Apply(pipelines);
BENCHMARK_CAPTURE(predict, data_parallel_1024,
                  "resnet50/imagenet-synthetic/data-parallel/np:1024/batch:32768/device:cuda")
    ->Apply(one);
BENCHMARK_CAPTURE(predict, copies_of_a_pipeline_8192,
                  "transformer[layers=96]/tokens-synthetic/1f1b/np:8192/batch:32768/micro:64/dp:512/device:cuda")
    ->Apply(one);
BENCHMARK_CAPTURE(
    predict, tensors_stages_copies_98304,
    "transformer[layers=96,hidden=12288,heads=96,sequence=2048]/tokens-synthetic[sequence=2048,vocabulary="
    "51200]/1f1b/np:98304/batch:65536/micro:64/dp:1024/device:cuda/tp:8")
    ->Apply(one);
BENCHMARK_CAPTURE(advise_on, mlp_128, "mlp[layers=128]/cifar10-synthetic/sequential/np:128/batch:512")->Apply(one);
BENCHMARK_CAPTURE(advise_on, mlp_1024, "mlp[layers=1024]/cifar10-synthetic/sequential/np:1024/batch:4096")->Apply(one);
BENCHMARK_CAPTURE(advise_on, mlp_on_1024_gpus,
                  "mlp[layers=1024]/cifar10-synthetic/sequential/np:1024/batch:2048/device:cuda")
    ->Apply(one);
BENCHMARK_CAPTURE(advise_on, transformer_1024,
                  "transformer[layers=96,hidden=4096,heads=32]/tokens-synthetic/sequential/np:1024/batch:4096/"
                  "device:cuda/precision:bf16")
    ->Apply(one);

}  // namespace
}  // namespace parabench::suite

BENCHMARK_MAIN();
