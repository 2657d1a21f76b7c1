// What the three marks of an operation cost: a chain of operations on a GPU with and without them.
//
//   event_benchmark [--benchmark_format=json ...]
//
// An operation is a run of element-wise kernels that together take about 20 or 50 us, as small layers do. Times are the
// device's, by two marks around the whole chain; us_per_operation is the figure to compare between marks:0 and marks:3,
// which differ by what the marks widen an operation. Exit code 4 without a GPU.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <map>

#include "base/error.h"
#include "parallelism/exec/device.h"

namespace parabench {
namespace {

constexpr int operations = 400;
constexpr int kernels = 4;  ///< of an operation

double chain_s(Device& device, const torch::Tensor& data, int marks) {
  device.expect_marks(operations * marks + 2);
  const Mark begin = device.mark();
  for (int i = 0; i < operations; ++i) {
    for (int k = 0; k < kernels; ++k) data.add_(1);
    for (int m = 0; m < marks; ++m) device.mark();
  }
  const Mark end = device.mark();
  device.synchronise();
  return device.seconds(end) - device.seconds(begin);
}

/// Elements with which an operation takes about so many microseconds; the same for all that ask.
std::int64_t elements_for(Device& device, std::int64_t us) {
  static std::map<std::int64_t, std::int64_t> found;
  if (const auto before = found.find(us); before != found.end()) return before->second;
  const double aim_s = 1e-6 * static_cast<double>(us);
  const auto options = torch::TensorOptions(torch::kFloat32).device(device.where());
  std::int64_t elements = 1 << 16;
  for (; elements < std::int64_t{1} << 28; elements += elements / 4) {
    const torch::Tensor data = torch::zeros({elements}, options);
    chain_s(device, data, 0);
    if (chain_s(device, data, 0) / operations >= aim_s) break;
  }
  return found[us] = elements;
}

void chain(benchmark::State& state) {
  static MemoryAccount account;
  const auto device = cuda_device(0, Precision::fp32, /*tuned=*/false, account);
  device->enter(/*computes=*/true);
  const std::int64_t elements = elements_for(*device, state.range(0));
  const torch::Tensor data = torch::zeros({elements}, torch::TensorOptions(torch::kFloat32).device(device->where()));
  const int marks = static_cast<int>(state.range(1));
  chain_s(*device, data, marks);
  double seconds = 0;
  for (auto _ : state) {
    const double once = chain_s(*device, data, marks);
    state.SetIterationTime(once);
    seconds += once;
  }
  state.counters["us_per_operation"] = 1e6 * seconds / (operations * static_cast<double>(state.iterations()));
  state.counters["elements"] = static_cast<double>(elements);
}

BENCHMARK(chain)
    ->ArgNames({"us", "marks"})
    ->ArgsProduct({{20, 50}, {0, 3}})
    ->Iterations(20)
    ->Repetitions(5)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace parabench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    parabench::MemoryAccount account;
    parabench::cuda_device(0, parabench::Precision::fp32, false, account);
  } catch (const parabench::Error& error) {
    std::fprintf(stderr, "event_benchmark: %s\n", error.what());
    return static_cast<int>(error.code());
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
