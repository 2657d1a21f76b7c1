// The processor as a device.
#pragma once

#include <memory>

#include "parallelism/exec/device.h"

namespace parabench::exec {

std::unique_ptr<Device> cpu_device(MemoryAccount& account);

}  // namespace parabench::exec
