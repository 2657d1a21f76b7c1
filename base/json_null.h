// Values that JSON has as null where there is none.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace parabench {

template <class T>
nlohmann::json null_if_absent(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}
inline nlohmann::json null_if_empty(std::string_view text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}
inline nlohmann::json null_if_zero(std::int64_t value) { return value == 0 ? nlohmann::json() : nlohmann::json(value); }

}  // namespace parabench
