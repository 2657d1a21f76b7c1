// Command validate.
#pragma once

#include <iosfwd>
#include <string>

#include "base/error.h"

namespace parabench::suite {

/// Checks a results file against its schema. Throws usage_error naming the first offending field.
ExitCode validate_file(const std::string& path, std::ostream& out);

}  // namespace parabench::suite
