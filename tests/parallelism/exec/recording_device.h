// A device for tests that captures as a GPU does, on the processor.
#pragma once

#include <memory>

#include "parallelism/exec/device.h"

namespace parabench::exec {

/// Captures by torch's dispatcher: every operation below autograd is noted with its operands; what it wrote to memory
/// that was there before is undone, since a capture runs nothing. A replay calls the same operations on the same
/// tensors and writes their results where the first ones lay. What works around the dispatcher is not captured, as on a
/// GPU; reading a value on the host throws std::logic_error, as it breaks a capture there.
std::unique_ptr<Device> recording_device(MemoryAccount& account);

}  // namespace parabench::exec
