#include "base/sum_order.h"

#include <vector>

#include "base/case_text.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/units_text.h"

namespace parabench {
namespace {

constexpr std::string_view partition_name = "partition";

SumOrder read(const NamedChoice& choice) {
  SumOrder order{.kind = parse_enum<SumOrderKind>("order", choice.name)};
  std::vector<std::string_view> names;
  if (order.kind == SumOrderKind::priority) names.push_back(partition_name);
  for (const auto& [name, text] : choice.parameters) {
    index_of_parameter(choice.name, name, names);
    order.partition = parse_bytes(partition_of_priority, text);
    if (order.partition < Bytes(1))
      throw usage_error(partition_of_priority, text, "a size of at least one byte",
                        "try partition=" + print_bytes(SumOrder{}.partition));
  }
  return order;
}

}  // namespace

SumOrder sum_order(const Case& spec) { return read(spec.order); }

NamedChoice canonical_sum_order(const NamedChoice& choice) {
  const Bytes partition = read(choice).partition;
  NamedChoice canonical{choice.name, {}};
  if (partition != SumOrder{}.partition) canonical.parameters.emplace_back(partition_name, print_bytes(partition));
  return canonical;
}

std::string sum_orders_text() {
  const NamedChoice priority{std::string(to_text(SumOrderKind::priority)),
                             {{std::string(partition_name), print_bytes(SumOrder{}.partition)}}};
  return std::string(to_text(SumOrderKind::backward)) + ", " + to_text(priority);
}

}  // namespace parabench
