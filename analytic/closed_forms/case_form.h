// Step time and memory of a case by closed forms alone, without its plan: what many cases are ranked by before a few
// are simulated.
#pragma once

#include <cstdint>
#include <vector>

#include "analytic/costs/costs.h"
#include "analytic/memory/sizes.h"
#include "base/placement.h"
#include "parallelism/plan/partition/profile.h"

namespace parabench::analytic {

/// A layer on one rank, for one piece of a batch, seconds with all ranks of the case busy.
struct LayerForm {
  double forward = 0, backward = 0, input = 0, weight = 0;  ///< backward: whole; input and weight: in two halves
  double update = 0;
  double adding = 0;            ///< that a backward takes longer where it adds to gradients
  std::int64_t parameters = 0;  ///< bytes
  std::int64_t saved = 0;       ///< bytes kept for a piece in flight
  std::int64_t entry = 0;       ///< bytes of its input, which are kept where the forward runs again
};

/// Of every layer of the case's model, in pieces of `samples` samples, the link between two ranks, and what a GPU holds
/// for a rank beside its tensors. `placement`: of the case's ranks. Throws what the costs throw where something was
/// never measured. O(layers).
struct LayerForms {
  std::vector<LayerForm> layers;
  Link link;
  std::int64_t device_bytes = 0;
  /// Of passes with as many ranks busy as have cores to themselves, over those with all of them busy.
  double own_cores_ratio = 1;
};
LayerForms layer_forms(const Case& spec, const Sizes& sizes, const Costs& costs, int samples,
                       const Placement& placement = {});

/// The ranks that sum gradients with rank 0, ascending: of a pipeline those with its stage, in other copies, too; where
/// the planner decides how many share a stage, all, which may share a single one; else all that compute.
std::vector<Rank> summing_ranks(const Case& spec);
/// What these take to do so, with the model's gradients whole on each: by the costs, which know hosts, network and
/// algorithm, or where nobody measured it by algorithm_of() over the link between two ranks. Nothing of one rank alone.
plan::SumTimes sums_of(const Case& spec, const Sizes& sizes, const Costs& costs, const Placement& placement = {});

struct CaseForm {
  double step_time_s = 0;
  double peak_bytes = 0;  ///< of the rank with the most; on a GPU with all that this holds for it
};

/// Of a possible case whose pieces are those of `forms` (plan::largest_piece), with its own sums_of():
///  - pipelines: the makespan in the strategy's row, else (M + P - 1) t / v, of the device with the longest passes and
///    update of stages cut by time; on top come its forwards that run again, what adds gradients and moves them to the
///    buckets, its update, and the longest sums among copies. Asynchronous ones: what that device computes for a
///    mini-batch. Memory: states, and what the row of the schedule has in flight. With zero above 0 copies of a stage
///    divide states of optimizers, and updates. Where the planner decides how many ranks share a stage (replicas=auto):
///    the faster of a stage for each rank and of a single one on all, whose sums nothing hides. Ranks that share cores
///    leave them to each other where they wait: what all do takes no less than while all are busy, but the makespan is
///    that of ranks with cores to themselves.
///  - copies, whose sums are those of their buckets: overlapped_step(), of strategies with the key shard with one
///    gather of all that they updated behind it, fully_sharded_step() of those with the key prefetch,
///    parameter_server_step(), local_step(); memory: states, divided where the strategy has the key shard, with the key
///    prefetch room for whole buckets, and activations of a piece.
/// Good to within some ten percent where stages are equal: for ranking, not for reporting. O(layers log layers).
CaseForm case_form(const Case& spec, const LayerForms& forms, const plan::SumTimes& sums);

}  // namespace parabench::analytic
