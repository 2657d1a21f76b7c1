#include "tests/parallelism/comm/conformance.h"

#include "tests/parallelism/comm/conformance_parts.h"

namespace parabench::comm {

namespace {

template <class... Parts>
std::vector<ConformanceCase> together(Parts... parts) {
  std::vector<ConformanceCase> list;
  for (const std::span<const ConformanceCase> part : {parts()...}) list.insert(list.end(), part.begin(), part.end());
  return list;
}

}  // namespace

std::span<const ConformanceCase> conformance_cases() {
  static const auto all = together(sum_cases, group_cases, share_cases, mixed_cases, message_cases, traffic_cases,
                                   waiting_cases, error_cases);
  return all;
}

std::span<const ConformanceCase> collective_cases() {
  static const auto some = together(sum_cases, mixed_cases);
  return some;
}

}  // namespace parabench::comm
