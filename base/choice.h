// The parameters in the brackets of a choice: `mlp[layers=12,hidden=512]`.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/case.h"

namespace parabench {

/// A parameter that a choice takes: an integer, or one of some words.
struct ChoiceParameter {
  std::string name;
  int value = 0;  ///< its default; of a word its place in `words`
  int low = 0, high = 0;
  std::vector<std::string> words = {};  ///< all that it can be; empty for an integer
};
/// One that is on or off.
ChoiceParameter switch_parameter(std::string name, bool on);

/// The value as it is written.
std::string value_text(const ChoiceParameter& parameter);

/// Place of a parameter's name among those that `owner` takes. Throws usage_error for one that is none of them, with
/// the nearest, or where it takes none.
std::size_t index_of_parameter(const std::string& owner, std::string_view name,
                               std::span<const std::string_view> known);

/// Sets the values of `known` that `choice` names. Throws usage_error for a name that is not known or comes twice, and
/// for a value that is none of its words or no integer from low to high.
void read_parameters(const NamedChoice& choice, std::span<ChoiceParameter> known);

}  // namespace parabench
