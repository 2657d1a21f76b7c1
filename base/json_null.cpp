#include "base/json_null.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace parabench {

template <class T>
nlohmann::json null_if_absent(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}
template nlohmann::json null_if_absent(const std::optional<bool>&);
template nlohmann::json null_if_absent(const std::optional<int>&);
template nlohmann::json null_if_absent(const std::optional<double>&);
template nlohmann::json null_if_absent(const std::optional<std::pair<double, double>>&);

nlohmann::json null_if_empty(std::string_view text) { return text.empty() ? nlohmann::json() : nlohmann::json(text); }
nlohmann::json null_if_zero(std::int64_t value) { return value == 0 ? nlohmann::json() : nlohmann::json(value); }

}  // namespace parabench
