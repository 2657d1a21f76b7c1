// The process' highest resident set (Linux).
#pragma once

#include <malloc.h>

#include <fstream>
#include <string>

namespace parabench {

/// From here on it counts anew.
inline void start_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}
/// In bytes, since start_peak().
inline double peak_bytes() {
  std::ifstream status("/proc/self/status");
  std::string field;
  while (status >> field && field != "VmHWM:") {
  }
  double kibibytes = 0;
  status >> kibibytes;
  return 1024 * kibibytes;
}

}  // namespace parabench
