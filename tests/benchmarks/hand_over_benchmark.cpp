// How long a hand-over there and back takes between two threads that sleep in between and work for some 40 us when they
// are woken, as for a part of a sum, while as many threads compute as the machine has cores; with and without short
// slices (base/short_slices.h).
#include <benchmark/benchmark.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/short_slices.h"

namespace parabench {
namespace {

void work() {
  double x = 1;
  for (int i = 0; i < 20'000; ++i) benchmark::DoNotOptimize(x = x * 1.0000001);
}

void hand_over(benchmark::State& state) {
  const bool has_short_slices = state.range(0) == 1;
  std::atomic<bool> done = false;
  std::atomic<int> ball = 0;  // 1: at the other end, -1: nobody comes any more
  std::vector<std::thread> computing;
  for (unsigned core = 0; core < std::thread::hardware_concurrency(); ++core)
    computing.emplace_back([&] {
      for (double x = 1; !done;) benchmark::DoNotOptimize(x = x * 1.0000001 + 1e-9);
    });
  const auto give = [&](int to) {
    ball = to;
    ball.notify_all();
  };
  std::thread other([&] {
    if (has_short_slices) ask_for_short_slices();
    for (;;) {
      ball.wait(0);
      if (ball == -1) return;
      work();
      give(0);
    }
  });
  std::thread([&] {
    if (has_short_slices) ask_for_short_slices();
    for ([[maybe_unused]] const auto once : state) {
      work();
      give(1);
      ball.wait(1);
    }
    give(-1);
  }).join();
  other.join();
  done = true;
  for (std::thread& one : computing) one.join();
}
BENCHMARK(hand_over)->ArgName("short_slices")->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace parabench

BENCHMARK_MAIN();
