#include "base/file_format.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace parabench {

std::string format_of(const nlohmann::json& document) {
  if (!document.is_object()) return "";
  const auto format = document.find("format");
  return format != document.end() && format->is_string() ? format->get<std::string>() : "";
}

void require_format(const JsonReader& file, std::string_view format) {
  const std::string given = format_of(file.value());
  if (given == format) return;
  throw file.error(
      fmt::format("a '{}' file: this is one of another kind ({})", format,
                  given.empty() ? "no text in a field 'format'" : fmt::format("its 'format' is '{}'", given)));
}

}  // namespace parabench
