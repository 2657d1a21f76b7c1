// Strategies: a name and a function that writes a plan.
#pragma once

#include <string>
#include <vector>

#include "models/spec/model.h"
#include "parallelism/plan/partition/profile.h"
#include "parallelism/plan/plan.h"

namespace parabench {

struct GivenSchedule;

std::vector<std::string> strategy_names();

/// Throws usage_error if the case is impossible in itself: unknown strategy, more stages than layers, fewer samples
/// than pieces, np that the strategy cannot use, keys that it does not know, values that this version does not offer;
/// strategy csv without a schedule or with one of other ranks, micro-batches or hash.
void check_case(const Case& spec, const ModelSpec& model, const GivenSchedule* given = nullptr);

/// Samples of the largest piece of a batch that travels as one.
int largest_piece(const Case& spec);

/// The plan of a case. `profile`: what its partition rule and its planner ask for. `steps`: the window of asynchronous
/// strategies; synchronous ones write one step. P devices p = 0 .. P - 1, M micro-batches.
///   sequential      one rank, one segment per layer
///   data-parallel   every rank all segments; buckets of `bucket` bytes closed in backward order (PyTorch DDP's rule:
///                   a bucket closes when its size reaches the limit), first bucket no smaller than the others
///   model-parallel  one segment per stage, one micro-batch
///   gpipe           one segment per stage, all forwards, then all backwards (Huang et al. 2019)
///   1f1b            P - 1 - p forwards, then one forward and one backward in turn (PipeDream-Flush, Narayanan et al.
///                   2021; DAPPLE's policy A)
///   dapple          the same after `warmup` - 2 p forwards, by default 2 (P - 1 - p) (policy B, Fan et al., PPoPP'21)
///   interleaved     1F1B over `chunks` stages per device (Megatron-LM, Narayanan et al., SC'21)
///   looped-bfs      gpipe over `chunks` stages per device (Lamy-Poirier 2022)
///   zb-h1, zb-h2, zb-v  backwards split into input and weight gradients (Qi et al. 2024)
///   dualpipev       the same on a folded pipeline, forwards beside backwards (DeepSeek 2025)
///   chimera         two pipelines against each other (Li and Hoefler, SC'21)
///   pipedream       1F1B on an endless stream of mini-batches with weight stashing; `replicas` shares stages among
///                   ranks, replicas=auto as plan_replication() finds best (Narayanan et al., SOSP'19)
///   pipedream-2bw   the same with M micro-batches per update and two weight versions (Narayanan et al., ICML'21)
///   csv             what `given` says (given_schedule.h); `sha` is its hash
/// All synchronous pipelines take `dp` copies whose gradients are reduced in buckets, and all strategies recompute;
/// recompute:auto leaves to the caller which segments (add_recompute), single layers where the strategy can.
Plan make_plan(const Case& spec, const ModelSpec& model, const Profile& profile, int steps,
               const GivenSchedule* given = nullptr);

}  // namespace parabench
