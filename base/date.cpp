#include "base/date.h"

#include <array>
#include <ctime>

namespace parabench {
namespace {

constexpr const char* form = "%Y-%m-%dT%H:%M:%SZ";

}  // namespace

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), form, std::gmtime(&now));
  return text.data();
}

std::optional<std::chrono::sys_seconds> parse_utc(const std::string& text) {
  std::tm parts{};
  const char* end = strptime(text.c_str(), form, &parts);
  if (!end || *end != '\0') return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(timegm(&parts)));
}

}  // namespace parabench
