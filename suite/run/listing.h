// What a listing says of its cases.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "suite/cases/selection.h"
#include "suite/run/forecast.h"

namespace parabench::suite {

/// A forecast in short.
struct ListedForecast {
  double step_time_s = 0;
  std::int64_t rank_bytes = 0;  ///< counted bytes of the rank that needs most
  double all_bytes = 0;         ///< of all ranks together
  std::string cost_source;
  bool operator==(const ListedForecast&) const = default;
};

/// One line of a listing.
struct Listed {
  std::int64_t model_parameters = 0;  ///< 0 where there is no such model
  std::optional<ListedForecast> forecast;
  std::string impossible;  ///< why there is none
  bool operator==(const Listed&) const = default;
};
using ListedById = std::map<std::string, Listed>;

/// The cases' lines, in their order, worked out side by side; what `known` has is taken from there, and what a line
/// that no user named says is added to it. Throws the error of the first named case that is impossible.
std::vector<Listed> listed(const std::vector<SelectedCase>& cases, const Knowledge& knowledge, ListedById& known);

}  // namespace parabench::suite
