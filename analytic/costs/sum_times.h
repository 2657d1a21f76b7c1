// How long ranks take to sum all gradients of a model.
#pragma once

#include <optional>
#include <vector>

#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"
#include "parallelism/plan/partition/profile.h"
#include "parallelism/plan/partition/replicated_stage.h"

namespace parabench::analytic {

/// Among `members`, which ascend and hold the whole model each: the line through what no bytes take and what all of
/// them take. `layers`: single_layers() of the case, with the placement of its ranks. Throws what the model throws.
plan::SumTimes sum_times(const TimeModel& time, const Sizes& sizes, plan::Plan layers, std::vector<Rank> members);

/// Bytes/s of the link between neighbours over which a ring would move them as fast as `members` sum them; infinite
/// where bytes take no time. `layers`: as of sum_times(). nullopt: of one rank, and where nobody measured such sums.
/// Throws what else the model throws.
std::optional<double> ring_bytes_per_s(const TimeModel& time, const Sizes& sizes, plan::Plan layers,
                                       std::vector<Rank> members);

/// Over what the replicas of a stage of PipeDream's send and sum: TimeModel::link() to the neighbours, and
/// ring_bytes_per_s() among them, or the former where there is none. Throws what the model throws of either.
plan::ReplicaLink replica_link(const TimeModel& time, const Sizes& sizes, const plan::Plan& plan,
                               std::vector<Rank> replicas);

}  // namespace parabench::analytic
