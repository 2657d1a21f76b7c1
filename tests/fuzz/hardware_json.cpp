// Data sheets of machines: whatever is read has rates that a prediction can divide by.
#include <cmath>
#include <nlohmann/json.hpp>

#include "analytic/hardware/hardware.h"
#include "base/json_text.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace parabench;
  const auto hardware = fuzz::value_or_error(
      [&] { return analytic::hardware_from_json(parse_json(fuzz::as_text(data, size), "hardware"), "hardware"); });
  if (!hardware) return 0;
  const analytic::MachineInfo& machine = hardware->machine;
  const auto positive = [](double rate) { return std::isfinite(rate) && rate > 0; };
  fuzz::require(machine.cores > 0 && positive(machine.frequency_hz) && positive(machine.sheet->memory_bytes_per_s),
                "a host computes and has memory");
  fuzz::require(machine.gpus.empty() == !machine.sheet->gpu, "GPUs have rates");
  if (machine.sheet->gpu)
    fuzz::require(positive(machine.sheet->gpu->fp32_flops) && positive(machine.sheet->gpu->link_bytes_per_s) &&
                      machine.gpus.front().count > 0,
                  "GPUs compute and are joined");
  if (machine.sheet->network)
    fuzz::require(positive(machine.sheet->network->bytes_per_s) && machine.sheet->network->latency_s >= 0 &&
                      !machine.gpus.empty(),
                  "networks join hosts with GPUs");
  return 0;
}
