// All-reduce, reduce-scatter and all-gather between ranks that share no memory, by each algorithm of
// parallelism/comm/algorithms and by the MPI library: same bytes, same ranks, alternating in one run.
// mpirun -np 2 --host n1,n2 reduction_benchmark [samples [bytes...]]
// (two hosts with a link of 1 Gbit/s between them on one machine: tests/benchmarks/two_hosts.py)
//
// A sample is one call from freshly written input, behind a barrier; the maximum over ranks counts, in wall time and in
// processor time. The first sample is warm-up. Ends with an error where a sum is wrong, or where two runs of one
// algorithm differ in a bit. Prints one line of JSON per size, algorithm and kind on rank 0.
#include <mpi.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/case_text.h"
#include "base/statistics.h"
#include "parallelism/comm/mpi/world.h"

namespace parabench {
namespace {

constexpr ReduceKind algorithms[] = {ReduceKind::automatic,   ReduceKind::ring,         ReduceKind::halving_doubling,
                                     ReduceKind::double_tree, ReduceKind::hierarchical, ReduceKind::library};
constexpr comm::CollectiveKind kinds[] = {comm::CollectiveKind::all_reduce, comm::CollectiveKind::reduce_scatter,
                                          comm::CollectiveKind::all_gather};

double processor_s() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double most_of_all(double value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

/// The memory of one rank, and what it is filled with.
struct Data {
  std::vector<float> input, buffer, first;
  explicit Data(std::size_t elements, int rank) : input(elements), buffer(elements) {
    std::mt19937 random(rank);
    std::normal_distribution<float> normal;
    std::ranges::generate(input, [&] { return normal(random); });
  }
};

/// Seconds of wall and processor time.
std::pair<double, double> sample(comm::Communicator& comm, comm::CollectiveKind kind, Data& data) {
  data.buffer = data.input;
  const std::int64_t bytes = static_cast<std::int64_t>(data.buffer.size() * sizeof(float));
  const comm::Shares shares = comm::Shares::even(bytes, comm.size());
  comm.wait(comm.barrier());
  const double processor = processor_s();
  const auto begin = std::chrono::steady_clock::now();
  comm.wait(
      comm.collective({.kind = kind, .buffer = {data.buffer.data(), bytes, comm::ElementType::f32}, .shares = shares}));
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double busy = processor_s() - processor;
  const comm::Share part =
      kind == comm::CollectiveKind::reduce_scatter ? shares.of(comm.rank().value) : comm::Share{0, bytes};
  if (data.first.empty()) data.first = data.buffer;
  if (std::memcmp(&data.first[part.begin / 4], &data.buffer[part.begin / 4], part.bytes()) != 0)
    throw std::logic_error("two runs differ");
  return {most_of_all(wall), most_of_all(busy)};
}

void require_sum(comm::Communicator& comm, const Data& data) {
  std::vector<float> expected(data.input.size());
  MPI_Allreduce(data.input.data(), expected.data(), static_cast<int>(expected.size()), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::abs(expected[i] - data.first[i]) > 1e-5F * static_cast<float>(comm.size()))
      throw std::logic_error("a wrong sum");
  }
}

std::string to_json(std::vector<double> values) {
  char text[120];
  std::snprintf(text, sizeof text, R"({"median": %.6g, "least": %.6g, "most": %.6g})", median(values),
                *std::ranges::min_element(values), *std::ranges::max_element(values));
  return text;
}

void run(const comm::MpiSession& session, int samples, const std::vector<std::int64_t>& sizes) {
  std::vector<std::unique_ptr<comm::Communicator>> comms;
  for (const ReduceKind algorithm : algorithms)
    comms.push_back(comm::make_mpi_communicator(session, 64, {}, false, algorithm));
  for (const std::int64_t bytes : sizes) {
    for (const comm::CollectiveKind kind : kinds) {
      std::vector<std::vector<double>> wall(comms.size()), busy(comms.size());
      std::vector<Data> data(comms.size(), Data(bytes / sizeof(float), session.rank().value));
      for (int i = -1; i < samples; ++i) {
        for (std::size_t a = 0; a < comms.size(); ++a) {
          const auto [seconds, processor] = sample(*comms[a], kind, data[a]);
          if (i < 0) continue;
          wall[a].push_back(seconds);
          busy[a].push_back(processor);
        }
      }
      for (std::size_t a = 0; a < comms.size(); ++a) {
        if (kind == comm::CollectiveKind::all_reduce) require_sum(*comms[a], data[a]);
        if (session.rank() != Rank(0)) continue;
        std::printf(R"({"benchmark": "reduction", "ranks": %d, "bytes": %lld, "collective": "%s", "reduce": "%s", )"
                    R"("by": "%s", "samples": %d, "wall_s": %s, "processor_s": %s})"
                    "\n",
                    session.size(), static_cast<long long>(bytes), std::string(comm::name(kind)).c_str(),
                    std::string(to_text(algorithms[a])).c_str(), comms[a]->capabilities().reduction.c_str(), samples,
                    to_json(wall[a]).c_str(), to_json(busy[a]).c_str());
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace
}  // namespace parabench

int main(int argc, char** argv) {
  prctl(PR_SET_TIMERSLACK, 1);  // as parabench-rank does
  parabench::comm::MpiSession session(&argc, &argv);
  try {
    std::vector<std::int64_t> sizes;
    for (int i = 2; i < argc; ++i) sizes.push_back(std::max<std::int64_t>(4, std::atoll(argv[i])));
    if (sizes.empty()) sizes = {1'000, 1'000'000, 10'000'000, 44'700'000};
    parabench::run(session, argc > 1 ? std::max(1, std::atoi(argv[1])) : 7, sizes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reduction_benchmark: %s\n", error.what());
    session.abort(1);
  }
  return 0;
}
