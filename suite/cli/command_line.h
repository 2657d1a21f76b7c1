// The command line: the words after the program's name in, what they ask for out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "suite/cli/start.h"

namespace parabench::suite {

/// A command with its options, ready to start.
using Command = std::function<ExitCode(const Start&)>;

/// Reads the words after the program's name. Throws usage_error for an unknown command or option (with the nearest
/// spelling), a missing or malformed value, or a `run` that chooses nothing.
Command parse_command_line(const std::vector<std::string>& words);

}  // namespace parabench::suite
