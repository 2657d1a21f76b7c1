// How fast and how undisturbed the machine is while a launch works on it: what drifts between launches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/canary.h"
#include "base/case.h"
#include "base/processor_ticks.h"
#include "parallelism/comm/communicator.h"

namespace parabench::rank {

/// What a rank says; ranks of one process know the same of it.
struct RankCanary {
  std::string process;  ///< of all hosts
  Canary canary;
};
/// The slowest rank's times, the largest share and spread, the switches of each process. Precondition: a rank.
Canary canary_of(std::span<const RankCanary> ranks);

/// Of one rank's times of the product in a launch: their mean, and the slowest over the fastest. Precondition: one or
/// more.
std::pair<double, double> mean_and_spread(std::span<const double> products_s);

/// Times two things before a launch's work and, in end(), once more, on all ranks at once, each with the threads and
/// the cores that it computes with:
///  - a product of two matrices of 192 x 192 floats, which with their result fit into an L2 cache of 512 KiB, for 10
///    ms: the speed of the cores. Over minutes a training step divided by it varies half as much as the step. It is
///    timed in between(), too;
///  - a triad a = b + s c (STREAM, McCalpin 1995) over arrays of 16 MiB, 48 MiB on each rank, which is more than its
///    share of the last cache, for 10 ms: the speed of the memory, which a step alone does not follow.
/// Medians of each. On GPUs nothing is timed, and it tells nothing. What its arrays take is no part of the process's
/// resident peak afterwards, where the system lets a process say so (/proc/self/clear_refs); what between() takes may
/// be.
class CanaryWatch {
 public:
  /// Collective. Of the case its device and its threads count.
  CanaryWatch(const Case& spec, comm::Communicator& comm);
  /// Collective, between two parts of the launch's work.
  void between();
  /// Collective. The launch's canary on rank 0; nullopt on the others, and on GPUs.
  std::optional<Canary> end();

 private:
  void time_product();
  void time_triad();

  comm::Communicator& comm_;
  bool is_on_;
  int threads_;
  std::vector<double> products_s_, triads_s_;
  std::optional<ProcessorTicks> ticks_;
  std::int64_t switches_ = 0;
};

}  // namespace parabench::rank
