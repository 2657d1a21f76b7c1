// The name of this host.
#pragma once

#include <string>

namespace parabench {

/// As gethostname has it, cut after 255 bytes.
std::string host_name();

}  // namespace parabench
