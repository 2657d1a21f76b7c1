// A plan's timeline for trace viewers.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "parallelism/plan/plan.h"
#include "parallelism/plan/timeline.h"

namespace parabench::plan {

/// Chrome trace events, one tid per lane (pid = rank); times in microseconds.
nlohmann::json to_trace(const Plan& plan, const Timeline& timeline);

}  // namespace parabench::plan
