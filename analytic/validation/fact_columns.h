// The columns of a file of published measurements that hold its rows' configurations.
#pragma once

#include <span>
#include <string_view>

#include "analytic/validation/fact.h"

namespace parabench::analytic {

struct FactColumn {
  std::string_view name;
  bool (*given)(const Configuration& configuration);
  /// Throws usage_error with `subject` for a text that is none of its values.
  void (*read)(Configuration& configuration, std::string_view subject, std::string_view text);
};

std::span<const FactColumn> fact_columns();

/// A positive, finite number. Throws usage_error with `subject`.
double positive_number(std::string_view subject, std::string_view text);

}  // namespace parabench::analytic
