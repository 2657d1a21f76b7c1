// The rules of a plan about messages.
#pragma once

#include "parallelism/plan/validate.h"

namespace parabench::plan {

/// Messages: each once, between the holders of neighbouring segments, or of the two that a skip joins, which goes once
/// to each rank that takes it; paired in order.
void check_messages(const Plan& plan, Violations& found);

}  // namespace parabench::plan
