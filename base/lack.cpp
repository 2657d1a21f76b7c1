#include "base/lack.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <new>
#include <string>
#include <system_error>

#include "base/units_text.h"

namespace parabench {
namespace {

std::string address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "no more";
  return fmt::format("no more (ulimit -v allows {})", human_bytes(static_cast<double>(limit.rlim_cur)));
}

}  // namespace

std::optional<Error> lack_behind(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error))
    return environment_error("memory", address_space(), "room for what was asked for",
                             "raise the limit, or take a smaller model, batch or list");
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system && system->code() == std::errc::resource_unavailable_try_again)
    return environment_error("threads", address_space(), "room for another one", "see ulimit -u, -v and -s");
  return std::nullopt;
}

}  // namespace parabench
