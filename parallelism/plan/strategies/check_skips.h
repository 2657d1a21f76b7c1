// What plans cannot do yet with tensors that skip layers.
#pragma once

#include "models/spec/model.h"
#include "parallelism/plan/plan.h"

namespace parabench {

/// Throws usage_error where a skip leads from one rank to another: messages carry the tensor between neighbours alone.
void check_skips(const Plan& plan, const ModelSpec& model);

}  // namespace parabench
