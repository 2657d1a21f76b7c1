// The published measurements of the folder tables, embedded when the program is built.
#pragma once

#include <span>
#include <string_view>

namespace parabench::analytic {

struct FactTable {
  std::string_view name;  ///< its path in the repository
  std::string_view text;
};

std::span<const FactTable> fact_tables();

}  // namespace parabench::analytic
