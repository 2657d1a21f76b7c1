#include "suite/rank/reference_losses.h"

#include <algorithm>
#include <cmath>

#include "parallelism/exec/equivalence.h"
#include "parallelism/exec/reference.h"
#include "parallelism/exec/rounding.h"
#include "results/record.h"
#include "suite/rank/hand_over.h"

namespace parabench::rank {
namespace {

/// Share of themselves by which weights are rounded once more, in the type in which products are computed.
double rounding_of(Precision precision) {
  switch (precision) {
    case Precision::fp32: return 0x1p-24;
    case Precision::tf32: return 0x1p-11;
    case Precision::bf16: return 0x1p-9;
    case Precision::fp64: return exec::rounding_nudge;
  }
  return 0;
}

/// With few values per channel, only those that rounding cannot decide.
int loss_steps(const Launch& launch) {
  if (launch.plan.taken > 0) return 1;
  int smallest = launch.plan.spec.batch;
  for (const auto& replica : launch.plan.pieces) smallest = std::min(smallest, std::ranges::min(replica));
  return smallest < exec::steady_piece(launch.model) ? 2 : hand_over_steps;
}

}  // namespace

std::vector<double> reference_losses(const Launch& launch, const models::ModelSpec& model) {
  const Precision precision = launch.plan.spec.precision;
  const auto losses = [&](double nudge) {
    return exec::train_reference(launch.plan, model, loss_steps(launch), launch.source, launch.input, {.nudge = nudge})
        .losses;
  };
  return decided_losses(losses(0), losses(rounding_of(precision)), results::loss_tolerance(precision));
}

std::vector<double> decided_losses(std::vector<double> losses, const std::vector<double>& nudged, double tolerance) {
  // What rounds otherwise differs by about what one rounding of every weight makes.
  constexpr double roundings = 3;
  std::size_t decided = 1;
  while (decided < losses.size() &&
         roundings * std::abs(nudged.at(decided) - losses[decided]) <= tolerance * std::abs(losses[decided]))
    ++decided;
  losses.resize(std::min(decided, losses.size()));
  return losses;
}

}  // namespace parabench::rank
