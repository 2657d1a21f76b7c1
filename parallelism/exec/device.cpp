#include "parallelism/exec/device.h"

#include <c10/core/AutogradState.h>

namespace parabench::exec {

void Device::enter(bool computes) {
  if (computes) c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
  enter_queue(computes);
}

CountScope::CountScope(Device& device, MemoryCategory category) {
  device.allocating(category);
  if (device.where().is_cpu()) host_.emplace(device.account(), category);
}

}  // namespace parabench::exec
