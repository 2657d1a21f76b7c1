// The part of the conformance suite where messages must not wait for each other.
#pragma once

#include <span>

#include "tests/comm/conformance.h"

namespace parabench {

std::span<const ConformanceCase> message_cases();

}  // namespace parabench
