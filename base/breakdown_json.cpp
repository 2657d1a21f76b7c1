#include "base/breakdown_json.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace parabench {

nlohmann::json to_json(const Breakdown& breakdown) {
  nlohmann::json out;
  for (const auto& [name, part] : breakdown_fields) out[std::string(name)] = breakdown.*part;
  return out;
}

Breakdown breakdown_from_json(const JsonReader& reader) {
  Breakdown out;
  for (const auto& [name, part] : breakdown_fields) {
    out.*part = reader.at(name).as<std::optional<double>>().value_or(std::numeric_limits<double>::quiet_NaN());
  }
  return out;
}

}  // namespace parabench
