// Strategies: a name and a function that writes a plan.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/spec/model.h"
#include "parallelism/plan/plan.h"

namespace parabench {

std::vector<std::string> strategy_names();

/// Throws usage_error if the case is impossible in itself: unknown strategy, more stages than layers, fewer samples
/// than pieces, np that the strategy cannot use, keys that it does not know, values that this version does not offer.
void check_case(const Case& spec, const ModelSpec& model);

/// The plan of a case. `layer_seconds`: predicted forward + backward time of each layer at the piece size, for
/// partition:time; ignored by the other rules. `steps`: the window of asynchronous strategies; synchronous ones write
/// one step. P devices p = 0 .. P - 1, M micro-batches.
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
///                   ranks (Narayanan et al., SOSP'19)
///   pipedream-2bw   the same with M micro-batches per update and two weight versions (Narayanan et al., ICML'21)
/// All synchronous pipelines take `dp` copies whose gradients are reduced in buckets, and all strategies recompute.
Plan make_plan(const Case& spec, const ModelSpec& model, std::span<const double> layer_seconds, int steps);

}  // namespace parabench
