// What exceptions of the standard library tell of the environment.
#pragma once

#include <exception>
#include <optional>

#include "base/error.h"

namespace parabench {

/// What the environment lacked (exit code 4) where an allocation failed or a thread could not be started; nullopt for
/// every other exception.
std::optional<Error> lack_behind(const std::exception& error);

}  // namespace parabench
