// What ranks take that divide a layer's products among themselves.
#pragma once

#include <memory>

#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"
#include "base/prediction.h"

namespace parabench::analytic {

/// Another model's times of a model's shard (models::tensor_shard) with the sums that its `ranks` ranks make in each
/// layer, between passes that wait for them: all-reduces of the layer's output, b s h elements, one in a forward and
/// one in a backward for each pair of products (models::tensor_sums); of backwards in two parts in the first. `sizes`:
/// of the shard. `spec`: of the case without the key tp, whose ranks stand for `ranks` each. `passes` is of a
/// machine that knows them (MachineInfo::tensor_ranks), `sums` of one where every rank is its own; the sums of ranks
/// 0 to `ranks` - 1 stand for all, also where others lie in two racks.
std::unique_ptr<const TimeModel> tensor_times(std::unique_ptr<const TimeModel> passes,
                                              std::unique_ptr<const TimeModel> sums, const Case& spec, Sizes sizes,
                                              int ranks);

/// The sums of a layer that has most of them for the largest micro-batch, forward and backward together. `times`: as
/// above.
Term tensor_term(const TimeModel& times, const Case& spec, const Sizes& sizes, int ranks);

}  // namespace parabench::analytic
