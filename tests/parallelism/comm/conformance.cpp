#include "tests/parallelism/comm/conformance.h"

#include "tests/parallelism/comm/conformance_parts.h"

namespace parabench::comm {

std::span<const ConformanceCase> conformance_cases() {
  static const std::vector<ConformanceCase> all = [] {
    std::vector<ConformanceCase> list;
    for (const auto part :
         {sum_cases, group_cases, share_cases, mixed_cases, message_cases, traffic_cases, waiting_cases, error_cases})
      list.insert(list.end(), part().begin(), part().end());
    return list;
  }();
  return all;
}

}  // namespace parabench::comm
