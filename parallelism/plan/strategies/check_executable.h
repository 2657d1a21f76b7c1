// What plans may say and ranks that train cannot do yet.
#pragma once

#include "models/spec/model.h"
#include "parallelism/plan/plan.h"

namespace parabench::plan {

/// Throws usage_error for a valid plan that ranks on real devices cannot execute: of another number of layers, another
/// tie or other skips than the model, with shards of a stage, collectives of activations other than statistics of batch
/// norms, broadcasts, or updates in shares of several weight versions.
void check_executable(const Plan& plan, const models::ModelSpec& model);

}  // namespace parabench::plan
