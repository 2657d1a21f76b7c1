// Whether what a case asks of sums, of gradients and of batch norms' statistics, is possible.
#pragma once

#include "base/case.h"
#include "models/spec/model.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::plan {

/// Throws usage_error where the case's communicator has no such algorithm as `reduce`. Who talks by messages has a
/// choice; threads share their memory, and NCCL chooses by itself.
void check_reduce(const Case& spec);

/// The same of `shard`, `order`, `compress`, `sync_bn` and of PyTorch's reducer. `model`: with the layers that it has
/// by the case's own value of sync_bn.
void check_sums(const Case& spec, const models::ModelSpec& model);

/// The same of `zero` where the gradients of every micro-batch are summed by themselves, or weights would be gathered.
void check_scattered(const Case& spec, const models::ModelSpec& model, const Strategy& strategy);

}  // namespace parabench::plan
