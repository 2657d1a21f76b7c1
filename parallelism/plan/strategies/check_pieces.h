// Whether a batch can be cut into the pieces of a case.
#pragma once

#include "base/case.h"
#include "models/spec/model.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::plan {

/// Throws usage_error for fewer samples than pieces, and for pieces that leave a batch norm a single value per channel.
void check_pieces(const Case& spec, const models::ModelSpec& model, const Strategy& strategy);

/// The same for more ranks, or more passes of a micro-batch through a stage, than a plan may list. Plans list every
/// rank, whom each one meets, and every pass: a million passes would take 15 GB.
void check_size(const Case& spec, const Strategy& strategy);

}  // namespace parabench::plan
