// The parts of the conformance suite, one file each.
#pragma once

#include <span>

#include "tests/parallelism/comm/conformance.h"

namespace parabench::comm {

std::span<const ConformanceCase> sum_cases();
std::span<const ConformanceCase> group_cases();    ///< sums in groups
std::span<const ConformanceCase> share_cases();    ///< collectives of shares, and broadcasts
std::span<const ConformanceCase> mixed_cases();    ///< collectives of several kinds
std::span<const ConformanceCase> message_cases();  ///< messages that must not wait for each other
std::span<const ConformanceCase> traffic_cases();
std::span<const ConformanceCase> waiting_cases();
std::span<const ConformanceCase> error_cases();

}  // namespace parabench::comm
