// The part of the conformance suite that reduces in groups.
#pragma once

#include <span>

#include "tests/comm/conformance.h"

namespace parabench {

std::span<const ConformanceCase> group_cases();

}  // namespace parabench
