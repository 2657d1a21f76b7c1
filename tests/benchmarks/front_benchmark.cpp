// Seconds of what users wait for before anything runs: list, predict, plan.
#include <benchmark/benchmark.h>

#include <sstream>
#include <string>

#include "base/case_id.h"
#include "suite/cases/catalogue.h"
#include "suite/cases/selection.h"
#include "suite/cli/list_command.h"
#include "suite/cli/plan_command.h"
#include "suite/machine/knowledge.h"
#include "suite/protocol/command.h"
#include "suite/run/listing.h"

namespace parabench::suite {
namespace {

/// What `list` does where it knows nothing yet.
void list_cold(benchmark::State& state) {
  const Knowledge knowledge{known_machine()};
  std::size_t lines = 0;
  for (auto _ : state) {
    ListedById known;
    lines = listed(select({}, catalogue()), knowledge, known).size();
  }
  state.counters["cases"] = static_cast<double>(lines);
}

/// What a command prints.
template <class Options>
std::string printed(ExitCode (*command)(const Options&, const Start&), const Options& options) {
  std::ostringstream out, notes;
  Progress progress(notes, false);
  command(options, {{"parabench"}, progress, out});
  return out.str();
}

/// The whole command, its lines kept by the first call.
void list_again(benchmark::State& state) {
  const std::string first = printed(list_cases, {});
  for (auto _ : state)
    if (printed(list_cases, {}) != first) state.SkipWithError("another listing");
}

void predict(benchmark::State& state, const std::string& id) {
  const Knowledge knowledge{known_machine()};
  for (auto _ : state) {
    const Forecast forecast =
        make_forecast(make_subject(parse_case(id)), knowledge, protocol::default_warmup, protocol::default_steps);
    benchmark::DoNotOptimize(&forecast);
  }
}

void print_plan(benchmark::State& state, const std::string& id) {
  for (auto _ : state) {
    const std::string text = printed<PlanOptions>(suite::print_plan, {.id = id});
    benchmark::DoNotOptimize(text.data());
  }
}

BENCHMARK(list_cold)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(list_again)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict, one_f_one_b_8, "resnet50/cifar10-synthetic/1f1b/np:8/batch:64/micro:8")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict, data_parallel_8, "resnet152/imagenet-synthetic/data-parallel/np:8/batch:32")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict, pipedream_8, "resnet50/cifar10-synthetic/pipedream/np:8/batch:64")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict, gpu_data_parallel_8, "resnet152/imagenet-synthetic/data-parallel/np:8/batch:32/device:cuda")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(print_plan, one_f_one_b_8, "resnet50/cifar10-synthetic/1f1b/np:8/batch:64/micro:8")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace parabench::suite

BENCHMARK_MAIN();
