// The rules of a plan about fields: what lies in its range.
#pragma once

#include "parallelism/plan/validate.h"

namespace parabench::plan {

/// Segments, ranks, pieces and every operation's fields lie in their ranges. All other groups need a plan without such
/// violations.
void check_fields(const Plan& plan, Violations& found);

}  // namespace parabench::plan
