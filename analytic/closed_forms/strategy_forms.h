// What a rank holds and what it sends, by closed form: from how the strategy shares states, how many micro-batches its
// schedule keeps in flight and what it sums, without a look at the order of operations.
#pragma once

#include <optional>
#include <string>

#include "analytic/costs/memory_model.h"
#include "analytic/memory/sizes.h"

namespace parabench::analytic {

/// Bytes of one rank, all of them at the same time, which is more than it ever holds: gradients come while activations
/// go.
struct MemoryForm {
  double parameters = 0;       ///< and whole ones that a rank of shares has gathered
  double gradients = 0;        ///< and buckets beside them
  double optimizer = 0;        ///< its states, and those of an outer one
  double weight_versions = 0;  ///< beyond the first
  double activations = 0;      ///< of the micro-batches in flight
  int in_flight = 0;           ///< pairs of stage and micro-batch
  std::string formula;         ///< for people

  double total() const { return parameters + gradients + optimizer + weight_versions + activations; }
};

/// Of a rank that computes:
///  - states as ZeRO counts them (Rajbhandari et al., SC'20), divided among the ranks that share updates: states of the
///    optimizer; with one bucket of gradients at a time, gradients; with weights that come and go, parameters
///  - versions as many as the schedule's rule of weights keeps (Narayanan et al., SOSP'19)
///  - activations: what the row of the schedule has in flight (in_flight.h) of what a stage saves for a micro-batch;
///    stages of pipelines that do not drain have ceil(ranks from here to the end / ranks of the stage) (PipeDream), two
///    pipelines against each other P at most (Li and Hoefler, SC'21)
/// nullopt where no formula is known: forwards that run again, compressed sums, schedules from files, ranks that serve.
std::optional<MemoryForm> memory_form(const plan::Plan& plan, const Sizes& sizes, const MemoryModel& memory, Rank rank);

/// Bytes that a rank sends in a step, an average over steps where these differ.
struct TrafficForm {
  double bytes = 0;
  std::string formula;  ///< for people
};

/// Of a rank that computes, whose sums run as rings (Thakur, Rabenseifner, Gropp 2005), W being the bytes of the
/// weights that it holds:
///  - sums of gradients among p ranks 2 (p-1)/p W; in shares a reduce-scatter and an all-gather, as much; weights that
///    are gathered before they are read once more where they are dropped in between (Rajbhandari et al., SC'20), but
///    for those of the last forwards, for which there is room
///  - with shares of s of p ranks the same in s, and the sum of the shares, 2 (g-1)/g W/s, g = p/s (Zhao et al. 2023)
///  - each micro-batch reduce-scattered by itself: (s-1)/s W for each
///  - averages in place of sums: the same, once in so many steps; servers: W to them
///  - pipelines: for each micro-batch the activations that leave a stage for another rank and the gradients of those
///    that came in
/// nullopt where no formula is known: compressed sums, statistics of batch norms, skips between stages, tied tensors,
/// layers in shards, ranks that serve.
std::optional<TrafficForm> traffic_form(const plan::Plan& plan, const Sizes& sizes, Rank rank);

/// The same counted over the plan's operations: what traffic_form() stands for.
double sent_bytes(const plan::Plan& plan, const Sizes& sizes, Rank rank);

}  // namespace parabench::analytic
