#include "suite/rank/resident.h"

#include <sys/resource.h>

#include <fstream>

namespace parabench::rank {

std::int64_t resident_peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

void reset_resident_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace parabench::rank
