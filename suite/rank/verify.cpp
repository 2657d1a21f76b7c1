#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cmath>

#include "parallelism/exec/equivalence.h"
#include "parallelism/exec/executor.h"
#include "parallelism/exec/reference.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "results/record.h"
#include "suite/rank/affinity.h"
#include "suite/rank/launch.h"

namespace parabench {
namespace {

/// Losses that the measured launch is compared by: with few values per channel, only those that rounding cannot decide.
int loss_steps(const Launch& launch) {
  int smallest = launch.plan.spec.batch;
  for (const auto& replica : launch.plan.pieces) smallest = std::min(smallest, std::ranges::min(replica));
  return smallest < steady_piece(launch.model) ? 2 : 3;
}

std::int64_t memory_bytes() {
  struct sysinfo info {};
  sysinfo(&info);
  return static_cast<std::int64_t>(info.totalram) * info.mem_unit;
}

}  // namespace

Equivalence verify(const Launch& launch, Communicator& comm, Device& device) {
  Equivalence equivalence;
  equivalence.reference = delays_updates(launch.plan.spec) ? "delayed-update" : "sequential";
  const std::int64_t needed = reference_bytes(launch.plan, launch.model);
  if (needed > memory_bytes()) {
    equivalence.reason = fmt::format("a single rank cannot hold the reference: {} bytes needed, {} bytes of memory",
                                     needed, memory_bytes());
    return equivalence;
  }

  equivalence.steps = equivalence_steps(launch.plan);
  const Plan plan = small_pieces(launch.plan, launch.model, equivalence.steps);
  const Trained trained = train_and_gather(plan, launch.model, launch.source, launch.input, comm, device);
  if (comm.rank() != Rank(0)) return {};

  // The other ranks sleep now: the reference may use their cores.
  const std::vector<int> mine = allowed_cores();
  use_cores(launch.all_cores);
  at::set_num_threads(
      std::min<int>(static_cast<int>(launch.all_cores.size()), launch.plan.spec.np * launch.plan.spec.threads));
  const ReferenceState reference = train_reference(plan, launch.model, equivalence.steps, launch.source, launch.input);
  equivalence.reference_batch = reference.whole_batch ? ReferenceBatch::whole : ReferenceBatch::pieces;
  Difference difference = compare(plan, launch.model, trained, reference);
  const auto within_tolerance = [&] {  // a NaN compares false and so fails
    return difference.update <= equivalence.tolerance && difference.buffer <= equivalence.tolerance;
  };
  double decided = 0;
  if (!within_tolerance()) {
    const Rounding rounding = rounding_between(
        reference, train_reference(plan, launch.model, equivalence.steps, launch.source, launch.input, rounding_nudge));
    difference = compare(plan, launch.model, trained, reference, &rounding, equivalence.tolerance);
    equivalence.tensors_left_out = difference.left_out;
    decided = rounding.decided_elements;
  }
  equivalence.max_relative_update_difference = difference.update;
  equivalence.worst_parameter = difference.worst_parameter;
  equivalence.max_relative_buffer_difference = difference.buffer;
  if (!within_tolerance()) {
    equivalence.status = EquivalenceStatus::fail;
    equivalence.reason = fmt::format("{}; tolerance {:.0e}", describe(difference, launch.model), equivalence.tolerance);
  } else if (decided > most_decided) {
    equivalence.reason = fmt::format(
        "rounding alone decides {:.0f} % of the parameters, too many to tell what the rest is worth; try a "
        "larger batch",
        100 * decided);
  } else {
    equivalence.status = EquivalenceStatus::pass;
  }

  equivalence.loss_tolerance = loss_tolerance(launch.plan.spec.precision);
  equivalence.reference_losses =
      train_reference(launch.plan, launch.model, loss_steps(launch), launch.source, launch.input).losses;
  use_cores(mine);
  return equivalence;
}

}  // namespace parabench
