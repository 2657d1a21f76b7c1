// In which order copies of a model sum their gradients.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/case.h"
#include "base/enum_text.h"

namespace parabench {

enum class SumOrderKind {
  backward,  ///< in buckets, as backwards make them
  priority,  ///< in partitions of single layers, first those that the next forward reads first
};
constexpr std::array<std::string_view, 2> names_of(SumOrderKind) { return {"backward", "priority"}; }

/// What messages call the parameter.
inline constexpr std::string_view partition_of_priority = "partition of priority";

struct SumOrder {
  SumOrderKind kind = SumOrderKind::backward;
  Bytes partition{4LL << 20};  ///< of priority: the most of a layer's gradients that are summed at a time
};

/// That of a case.
SumOrder sum_order(const Case& spec);

/// The choice with its parameter as sizes are printed, left out at its default. Throws usage_error for an unknown order
/// or parameter, and for a partition of less than a byte.
NamedChoice canonical_sum_order(const NamedChoice& choice);

/// Every order with its parameter, for people.
std::string sum_orders_text();

}  // namespace parabench
