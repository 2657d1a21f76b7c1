// How long a report of 1,000 records takes, without figures: reading, deriving, printing.
//   report_benchmark FILE    a file of write_report_samples: thousand.json
#include <benchmark/benchmark.h>

#include <iostream>

#include "results/report/write.h"

namespace {

using namespace parabench;

std::filesystem::path file;

void read(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(results::read_report_files(std::span(&file, 1)));
}
void derive(benchmark::State& state) {
  const auto files = results::read_report_files(std::span(&file, 1));
  for (auto _ : state) benchmark::DoNotOptimize(results::make_report(files));
}
void print(benchmark::State& state) {
  const results::Report report = results::make_report(results::read_report_files(std::span(&file, 1)));
  for (auto _ : state) benchmark::DoNotOptimize(results::report_texts(report));
}
BENCHMARK(read)->Unit(benchmark::kMillisecond);
BENCHMARK(derive)->Unit(benchmark::kMillisecond);
BENCHMARK(print)->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::cerr << "usage: report_benchmark FILE\n";
    return 2;
  }
  file = argv[1];
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
