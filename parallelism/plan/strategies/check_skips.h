// What plans may say and ranks that train cannot do yet.
#pragma once

#include "models/spec/model.h"
#include "parallelism/plan/plan.h"

namespace parabench {

/// Throws usage_error where a skip leads from one rank to another: messages carry the tensor between neighbours alone.
void check_skips(const Plan& plan, const ModelSpec& model);

/// Throws usage_error for a valid plan that ranks on real devices cannot execute: of another number of layers than the
/// model, with another tie, with shards of a stage, collectives of activations, broadcasts, updates in shares of several
/// weight versions, or as check_skips() says.
void check_executable(const Plan& plan, const ModelSpec& model);

}  // namespace parabench
