// The closed forms that published measurements are compared with, by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analytic/validation/fact.h"

namespace parabench::analytic {

/// A number, above 0, that a model is told by the rows it is fitted on.
struct Constant {
  std::string name;
  double start = 1;  ///< where the fit begins
};

struct FactModel {
  std::string_view name;
  std::vector<Quantity> quantities;     ///< what it predicts
  std::vector<std::string_view> needs;  ///< columns; of epochs also `samples`
  /// Those that a row's prediction takes; several rows share those of one name.
  std::vector<Constant> (*constants)(const Fact& fact);
  /// In the fact's quantity. `constants`: values in the order of the above.
  double (*predict)(const Fact& fact, std::span<const double> constants);
};

std::span<const FactModel> fact_models();

/// Throws usage_error with `subject` for an unknown name.
const FactModel& find_fact_model(std::string_view subject, std::string_view name);

}  // namespace parabench::analytic
