// In-place all-reduce through the node's shared window, against a reduce-scatter and an all-gather of even shares there
// and against MPI_Allreduce on private memory: same bytes, same ranks, alternating in one run.
// mpirun -np 2 --bind-to none all_reduce_benchmark [samples]
//
// A sample is the mean of some calls, each from freshly written input (as a backward pass leaves it) and behind
// a barrier; the maximum over ranks counts. The first samples are warm-up. Prints one line of JSON per size on
// rank 0, with the bus bandwidths of the medians.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/exchange.h"
#include "base/statistics.h"
#include "parallelism/comm/mpi/world.h"

namespace parabench {
namespace {

constexpr int warm_up_samples = 3;

/// Seconds per call, maximum over ranks.
double sample(std::span<float> data, int calls, const std::function<void()>& all_reduce) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double seconds = 0;
  for (int i = 0; i < calls; ++i) {
    std::fill(data.begin(), data.end(), static_cast<float>(rank + 1));
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = std::chrono::steady_clock::now();
    all_reduce();
    double call = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    MPI_Allreduce(MPI_IN_PLACE, &call, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    seconds += call;
    const auto expected = static_cast<float>(ranks * (ranks + 1) / 2);
    if (data.front() != expected || data.back() != expected) throw std::logic_error("a wrong sum");
  }
  return seconds / calls;
}

std::string to_json(std::span<const double> values) {
  char text[120];
  std::snprintf(text, sizeof text, R"({"median": %.6g, "p10": %.6g, "p90": %.6g})", median(values),
                quantile(values, 0.1), quantile(values, 0.9));
  return text;
}

void run(const comm::MpiSession& session, int samples) {
  constexpr std::int64_t sizes[] = {1'000'000, 10'000'000, 100'000'000};
  constexpr std::int64_t largest = 100'000'000;
  const auto comm = comm::make_mpi_communicator(session, largest);
  if (!comm->capabilities().shared_arenas) throw std::runtime_error(comm->capabilities().note);
  float* const window = reinterpret_cast<float*>(comm->allocate(largest).data);
  float* const own = static_cast<float*>(::operator new (largest, std::align_val_t{64}));
  for (const std::int64_t bytes : sizes) {
    const std::size_t count = bytes / sizeof(float);
    const int calls = static_cast<int>(std::max<std::int64_t>(1, 20'000'000 / bytes));
    const comm::Shares shares = comm::Shares::even(bytes, session.size());
    std::vector<double> in_window, in_halves, by_mpi, ratios, ratios_of_halves;
    for (int i = -warm_up_samples; i < samples; ++i) {
      const double first = sample({window, count}, calls, [&] {
        comm->wait(comm->all_reduce({window, bytes, comm::ElementType::f32}));
      });
      const double halves = sample({window, count}, calls, [&] {
        comm->wait(comm->reduce_scatter({window, bytes, comm::ElementType::f32}, shares));
        comm->wait(comm->all_gather({window, bytes, comm::ElementType::f32}, shares));
      });
      const double second = sample({own, count}, calls, [&] {
        MPI_Allreduce(MPI_IN_PLACE, own, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      });
      if (i < 0) continue;
      in_window.push_back(first);
      in_halves.push_back(halves);
      by_mpi.push_back(second);
      ratios.push_back(second / first);
      ratios_of_halves.push_back(halves / first);
    }
    if (session.rank() != Rank(0)) continue;
    const auto on_the_bus = [&](std::span<const double> seconds) {
      return bus_bandwidth(ExchangeKind::all_reduce, bytes, session.size(), median(seconds));
    };
    std::printf(R"({"benchmark": "all_reduce", "ranks": %d, "bytes": %lld, "calls_per_sample": %d, "samples": %d, )"
                R"("window_s": %s, "mpi_s": %s, "ratio": %.3g, "ratio_of_pairs": %s, )"
                R"("reduce_scatter_and_all_gather_s": %s, "their_ratio_of_pairs": %s, )"
                R"("window_bus_bytes_per_s": %.4g, "mpi_bus_bytes_per_s": %.4g})"
                "\n",
                session.size(), static_cast<long long>(bytes), calls, samples, to_json(in_window).c_str(),
                to_json(by_mpi).c_str(), median(by_mpi) / median(in_window), to_json(ratios).c_str(),
                to_json(in_halves).c_str(), to_json(ratios_of_halves).c_str(), on_the_bus(in_window),
                on_the_bus(by_mpi));
    std::fflush(stdout);
  }
  ::operator delete (own, std::align_val_t{64});
}

}  // namespace
}  // namespace parabench

int main(int argc, char** argv) {
  parabench::comm::MpiSession session(&argc, &argv);
  try {
    parabench::run(session, argc > 1 ? std::max(1, std::atoi(argv[1])) : 15);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "all_reduce_benchmark: %s\n", error.what());
    session.abort(1);
  }
  return 0;
}
