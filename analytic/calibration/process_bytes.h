// What a rank's process holds beside what is counted, as calibrations have measured it.
#pragma once

#include <cstdint>

#include "analytic/calibration/calibration.h"
#include "analytic/memory/sizes.h"

namespace parabench::analytic {

/// Whether a case's ranks are processes on the processor, one for each, of whose resident memory something is known:
/// threads of one process share it, and on a GPU other memory is short.
bool has_process_of_its_own(const Case& spec);

/// Calibration::process_bytes, the median over the launches that measured all layers of the model (of `sizes`) under
/// the keys of the case, since libraries make code and buffers for each kind of layer. How many ranks a launch has
/// matters less than whether its allocator kept a large tensor once more. 0: not known, or not
/// has_process_of_its_own(). O(launches x layers x log rows).
std::int64_t process_bytes(const Calibration& calibration, const Sizes& sizes, const Case& spec);

}  // namespace parabench::analytic
