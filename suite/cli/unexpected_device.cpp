#include "suite/cli/unexpected_device.h"

#include <fmt/format.h>

#include "analytic/calibration/calibration.h"
#include "analytic/costs/gpu_sheet.h"

namespace parabench::suite {

std::string unexpected_device(const analytic::MachineInfo& machine, const Case& spec) {
  const bool on_gpus = analytic::measured_device(spec) == DeviceKind::cuda;
  if (on_gpus && machine.gpus.empty() && !machine.sheet)
    return fmt::format("{}; --hardware names another one", analytic::gpu_sheet_text(nullptr));
  if (!on_gpus && !is_emulated(spec) && machine.sheet && !machine.gpus.empty())
    return fmt::format("ranks compute on the processors of hardware {}; the key device:cuda takes its GPUs",
                       machine.sheet->name);
  return "";
}

}  // namespace parabench::suite
