// Dates as files have them: ISO 8601 in UTC, to the second, "2026-01-02T03:04:05Z".
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace parabench {

/// The time now.
std::string utc_now();
/// nullopt where the text is no such date.
std::optional<std::chrono::sys_seconds> parse_utc(const std::string& text);

}  // namespace parabench
