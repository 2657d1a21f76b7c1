// What the three marks of an operation cost: a chain of operations on a GPU with and without them.
//
//   event_benchmark [--benchmark_format=json ...]
//
// An operation is a run of element-wise kernels that together take about 20 or 50 us, as small layers do; the host
// takes about as long to give them out. So that no kernel waits for the host, the chain is given out while the device
// is busy with one long kernel, and is short enough for the device's queue of some 1024 entries. Times are the
// device's, by two marks around the chain; us_per_operation is the figure to compare between marks:0 and marks:3, which
// differ by what the marks widen an operation. host_us_per_operation is what giving out took the host. Exit code 4
// without a GPU.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <map>

#include "base/clock.h"
#include "base/error.h"
#include "parallelism/exec/cuda/device_cuda.h"

namespace parabench::exec {
namespace {

constexpr int operations = 100;
constexpr int kernels = 4;       ///< of an operation
constexpr int long_rows = 8192;  ///< of the matrices of the long kernel, which takes at least 10 ms in fp32

struct ChainTimes {
  double device_s = 0;
  double host_s = 0;           ///< that giving it out took
  bool given_in_time = false;  ///< before the device began it
};

class Chain {
 public:
  Chain(Device& device, std::int64_t elements)
      : device_(device),
        options_(torch::TensorOptions(torch::kFloat32).device(device.where())),
        data_(torch::zeros({elements}, options_)),
        factor_(torch::zeros({long_rows, long_rows}, options_)),
        product_(torch::empty_like(factor_)) {}

  ChainTimes run(int marks) {
    device_.expect_marks(operations * marks + 2);
    torch::mm_out(product_, factor_, factor_);
    const double host_begin = now_s();
    const Mark begin = device_.mark();
    for (int i = 0; i < operations; ++i) {
      for (int k = 0; k < kernels; ++k) data_.add_(1);
      for (int m = 0; m < marks; ++m) device_.mark();
    }
    const Mark end = device_.mark();
    const double host_s = now_s() - host_begin;
    const bool given_in_time = !device_.reached(begin);
    device_.synchronise();
    return {device_.seconds(end) - device_.seconds(begin), host_s, given_in_time};
  }

 private:
  Device& device_;
  torch::TensorOptions options_;
  torch::Tensor data_, factor_, product_;
};

/// Elements with which an operation takes about so many microseconds; the same for all that ask.
std::int64_t elements_for(Device& device, std::int64_t us) {
  static std::map<std::int64_t, std::int64_t> found;
  if (const auto before = found.find(us); before != found.end()) return before->second;
  const double aim_s = 1e-6 * static_cast<double>(us);
  std::int64_t elements = 1 << 16;
  for (; elements < std::int64_t{1} << 28; elements += elements / 4) {
    Chain chain(device, elements);
    chain.run(0);
    if (chain.run(0).device_s / operations >= aim_s) break;
  }
  return found[us] = elements;
}

void chain(benchmark::State& state) {
  static MemoryAccount account;
  const auto device = cuda_device(0, Precision::fp32, /*tuned=*/false, account);
  device->enter(/*computes=*/true);
  const std::int64_t elements = elements_for(*device, state.range(0));
  const int marks = static_cast<int>(state.range(1));
  Chain chain(*device, elements);
  chain.run(marks);
  double device_s = 0, host_s = 0;
  for (auto _ : state) {
    const ChainTimes once = chain.run(marks);
    if (!once.given_in_time) {
      state.SkipWithError("the device began the chain before the host had given it out: enlarge long_rows");
      break;
    }
    state.SetIterationTime(once.device_s);
    device_s += once.device_s;
    host_s += once.host_s;
  }
  const double us_of_each = 1e6 / (operations * static_cast<double>(state.iterations()));
  state.counters["us_per_operation"] = us_of_each * device_s;
  state.counters["host_us_per_operation"] = us_of_each * host_s;
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
}  // namespace parabench::exec

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    parabench::exec::MemoryAccount account;
    parabench::exec::cuda_device(0, parabench::Precision::fp32, false, account);
  } catch (const parabench::Error& error) {
    std::fprintf(stderr, "event_benchmark: %s\n", error.what());
    return static_cast<int>(error.code());
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
