// The plan of a case, by its strategy's row.
#pragma once

#include "models/spec/model.h"
#include "parallelism/plan/formats/given_schedule.h"
#include "parallelism/plan/partition/profile.h"
#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// Samples of the largest piece of a batch that travels as one.
int largest_piece(const Case& spec);

/// The plan of a case, by its strategy's row (strategy_table.h). `profile`: what its partition rule and its planner ask
/// for. `steps`: the window of asynchronous strategies; synchronous ones write one step. `given`: what strategy csv
/// stands for (given_schedule.h). data-parallel closes its buckets as PyTorch's DDP: when their size reaches the limit,
/// the first one no smaller than the others; pipedream[replicas=auto] shares stages as plan_replication() finds best.
/// All synchronous pipelines take `dp` copies whose gradients are reduced in buckets, and all but c10d recompute;
/// recompute:auto leaves to the caller which segments (add_recompute), single layers where the strategy can.
Plan make_plan(const Case& spec, const models::ModelSpec& model, const Profile& profile, int steps,
               const GivenSchedule* given = nullptr);

}  // namespace parabench::plan
