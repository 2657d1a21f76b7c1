// --where: comparisons over the typed parameters of a case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/case.h"

namespace parabench::suite {

enum class Comparison { equal, not_equal, less, less_equal, greater, greater_equal };

/// `micro>=4`: the key's value against another one of its type.
struct Condition {
  std::string key;  ///< a key of the case id, or model, dataset, strategy, optimizer
  Comparison comparison = Comparison::equal;
  std::string value;
  bool whole = false;  ///< of the choices with names: the value's parameters count, too
};

/// "np<=4,micro=8,strategy!=sequential": all must hold. `==` is `=`. Throws usage_error for a wrong form, an
/// unknown key or name (with the nearest one), a value that is not the key's, or an order (<, >) of values that have
/// none.
std::vector<Condition> parse_where(std::string_view expression);

/// The value of model, dataset, strategy or optimizer with its parameters as ids print them. Throws usage_error naming
/// `subject` for a form that is none or an unknown name (with the nearest one), and as the name's owner does for
/// parameters that it does not take.
NamedChoice known_choice(std::string_view key, std::string_view subject, std::string_view text);

/// model, dataset, strategy and optimizer compare by name, or with all parameters where the value has brackets. The
/// empty value is that of a key without one (a schedule's own warmup).
bool holds(const Condition& condition, const Case& spec);

}  // namespace parabench::suite
