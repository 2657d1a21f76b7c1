#include "suite/rank/verify.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "base/compression.h"
#include "parallelism/exec/equivalence.h"
#include "parallelism/exec/reference.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "parallelism/plan/strategies/local_sgd.h"
#include "parallelism/plan/strategies/reference.h"
#include "suite/rank/affinity.h"
#include "suite/rank/reference_losses.h"

namespace parabench::rank {
namespace {

std::int64_t memory_bytes() {
  struct sysinfo info {};
  sysinfo(&info);
  return static_cast<std::int64_t>(info.totalram) * info.mem_unit;
}

/// Whether sums are rounded at every addition, in an order that the communicator alone knows: those of bf16, of more
/// than two ranks, but for the window's, which are rounded once.
bool rounds_in_own_order(const plan::Plan& plan, const comm::Communicator& comm) {
  return compression(plan.spec).kind == CompressionKind::bf16 && plan.spec.np > 2 &&
         comm.capabilities().reduction != "window";
}

using TrainReference = std::function<exec::ReferenceState(const exec::Departure&)>;

exec::OrderTolerance tolerance_of_orders(const exec::ReferenceState& reference, const TrainReference& train,
                                         int copies) {
  std::vector<exec::Rounding> by_order;
  for (int first = 0; first < std::min(copies, exec::known_orders); ++first)
    by_order.push_back(exec::rounding_between(reference, train({.first_term = first}), exec::decided_by_order(copies)));
  return exec::tolerance_of_orders(std::move(by_order), copies);
}

}  // namespace

results::Equivalence verify(const Launch& launch, comm::Communicator& comm, exec::Device& device) {
  results::Equivalence equivalence;
  equivalence.reference = parabench::to_text(plan::reference_of(launch.plan.spec));
  const std::int64_t needed = exec::reference_bytes(launch.plan, launch.model);
  if (needed > memory_bytes()) {
    equivalence.reason = fmt::format("a single rank cannot hold the reference: {} bytes needed, {} bytes of memory",
                                     needed, memory_bytes());
    return equivalence;
  }

  equivalence.steps = plan::equivalence_steps(launch.plan);
  plan::Plan plan = exec::small_pieces(launch.plan, launch.model, equivalence.steps);
  const bool in_own_order = rounds_in_own_order(launch.plan, comm);
  if (const int every = plan::averaging(plan.spec).every; every > 0) equivalence.every = every;
  if (in_own_order) plan.spec.lr *= exec::slow_training;
  const exec::Trained trained = exec::train_and_gather(plan, launch.model, launch.source, launch.input, comm, device);
  if (comm.rank() != Rank(0)) return {};

  // The other ranks sleep now: the reference may use their cores.
  const std::vector<int> mine = allowed_cores();
  use_cores(launch.all_cores);
  at::set_num_threads(
      std::min<int>(static_cast<int>(launch.all_cores.size()), launch.plan.spec.np * launch.plan.spec.threads));
  const TrainReference train = [&](const exec::Departure& departure) {
    return exec::by_layers_of(exec::train_reference(plan, launch.original, equivalence.steps, launch.source,
                                                    launch.input, departure, trained.arrivals),
                              launch.model);
  };
  const exec::ReferenceState reference = train({});
  equivalence.reference_batch =
      reference.whole_batch ? results::ReferenceBatch::whole : results::ReferenceBatch::pieces;
  equivalence.loss_tolerance = results::loss_tolerance(launch.plan.spec.precision);
  exec::Difference difference = exec::compare(plan, launch.model, trained, reference);
  const auto within_tolerance = [&] {  // a NaN compares false and so fails
    return difference.update <= equivalence.tolerance && difference.buffer <= equivalence.tolerance;
  };
  std::optional<exec::Rounding> rounding;
  const auto leave_out = [&] {
    difference = exec::compare(plan, launch.model, trained, reference, &*rounding, equivalence.tolerance);
    equivalence.tensors_left_out = difference.left_out;
  };
  if (in_own_order) {
    auto [tolerance, decided] = tolerance_of_orders(reference, train, plan.replicas);
    equivalence.tolerance = std::max(equivalence.tolerance, tolerance);
    equivalence.loss_tolerance = std::max(equivalence.loss_tolerance, results::loss_tolerance(Precision::bf16));
    rounding = std::move(decided);
    leave_out();
  }
  for (double nudge : exec::rounding_nudges) {
    if (within_tolerance() || in_own_order) break;
    const exec::Rounding further = exec::rounding_between(reference, train({.nudge = nudge}));
    rounding = rounding ? exec::larger_of(std::move(*rounding), further) : further;
    leave_out();
  }
  equivalence.max_relative_update_difference = difference.update;
  equivalence.worst_parameter = difference.worst_parameter;
  equivalence.max_relative_buffer_difference = difference.buffer;
  if (!within_tolerance()) {
    equivalence.status = results::EquivalenceStatus::fail;
    equivalence.reason =
        fmt::format("{}; tolerance {:.0e}", exec::describe(difference, launch.model), equivalence.tolerance);
  } else if (rounding && rounding->decided_elements > exec::most_decided) {
    equivalence.reason = fmt::format(
        "rounding alone decides {:.0f} % of the parameters, too many to tell what the rest is worth; try {}",
        100 * rounding->decided_elements, in_own_order ? "reduce:window" : "a larger batch");
  } else {
    equivalence.status = results::EquivalenceStatus::pass;
  }

  equivalence.reference_losses = reference_losses(launch, launch.original);
  use_cores(mine);
  return equivalence;
}

}  // namespace parabench::rank
