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
/// one step.
///   sequential      one rank, one segment per layer
///   data-parallel   every rank all segments; buckets of `bucket` bytes closed in backward order (PyTorch DDP's rule:
///                   a bucket closes when its size reaches the limit), first bucket no smaller than the others
///   model-parallel  one segment per stage, one micro-batch
///   gpipe           one segment per stage, all forwards, then all backwards (Huang et al. 2019)
///   1f1b            one segment per stage; P - 1 - s forwards, then one forward and one backward in turn
///                   (PipeDream-Flush, Narayanan et al. 2021; DAPPLE's policy A)
///   dapple          the same after `warmup` - 2 s forwards, by default 2 (P - 1 - s) (policy B, Fan et al., PPoPP'21)
///   pipedream       1F1B on an endless stream of mini-batches with weight stashing (Narayanan et al., SOSP'19)
Plan make_plan(const Case& spec, const ModelSpec& model, std::span<const double> layer_seconds, int steps);

}  // namespace parabench
