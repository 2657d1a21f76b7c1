// The parameters in the brackets of a choice: `mlp[layers=12,hidden=512]`.
#pragma once

#include <span>
#include <string>

#include "base/case.h"

namespace parabench {

/// An integer parameter that a choice takes.
struct ChoiceParameter {
  std::string name;
  int value = 0;  ///< its default
  int low = 0, high = 0;
};

/// Sets the values of `known` that `choice` names. Throws usage_error for a name that is not known or comes twice, and
/// for a value that is no integer from low to high.
void read_parameters(const NamedChoice& choice, std::span<ChoiceParameter> known);

}  // namespace parabench
