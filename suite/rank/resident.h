// Resident memory of this process: what the kernel counts against its limits, and kills for.
#pragma once

#include <cstdint>

namespace parabench::rank {

/// The highest resident set in bytes, shared pages included, since the last reset_resident_peak(), else ever.
std::int64_t resident_peak_bytes();
/// The highest resident set is that from now on. Where /proc/self/clear_refs cannot be written, the peak stays.
void reset_resident_peak();

}  // namespace parabench::rank
