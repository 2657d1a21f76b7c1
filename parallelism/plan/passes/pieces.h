// ZeRO over steps of several micro-batches, whose gradients come and go micro-batch by micro-batch.
#pragma once

#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// Pass over plans with sharded updates (add_sharded_updates): ZeRO's stage 2 (Rajbhandari et al. 2020). In place of
/// one reduce-scatter of each run there is one of each run and micro-batch, as soon as the backward has made its
/// gradients (Plan::scatters_pieces), and the rank adds its share of the sum to those of the micro-batches before.
/// There is room for the whole gradients of so many runs, of one micro-batch each, at a time: a share is added as late
/// as this allows, before the backward makes the gradients that take its place. Runs of one holder stay as they are.
/// Precondition: a plan of one step without tied tensors, whose groups share a run among all of its holders (no
/// `sharers`).
Plan scatter_pieces(Plan plan, int room);

}  // namespace parabench::plan
