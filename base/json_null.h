// Values that JSON has as null where there is none.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace parabench {

/// Instantiated for bool, int, double and a pair of doubles, which JSON has as an array.
template <class T>
nlohmann::json null_if_absent(const std::optional<T>& value);
nlohmann::json null_if_empty(std::string_view text);
nlohmann::json null_if_zero(std::int64_t value);

}  // namespace parabench
