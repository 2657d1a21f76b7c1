#include "analytic/costs/costs.h"

#include <utility>

#include "analytic/costs/calibrated_memory.h"
#include "analytic/costs/calibrated_times.h"
#include "analytic/costs/data_sheet_memory.h"
#include "analytic/costs/data_sheet_times.h"
#include "analytic/costs/unit_times.h"

namespace parabench::analytic {
namespace {

class NoMemory final : public MemoryModel {
 public:
  std::int64_t saved_bytes(const plan::Plan&, Rank, const plan::Op&) const override { return 0; }
  std::int64_t peak_bytes(const plan::Plan&, Rank, const plan::Op&) const override { return 0; }
  DeviceOverhead device_overhead(const plan::Plan&) const override { return {}; }
  std::int64_t process_bytes(const plan::Plan&) const override { return 0; }
};

}  // namespace

Costs unit_costs(double unit_s) { return {unit_times(unit_s), std::make_unique<NoMemory>()}; }

Costs calibrated_costs(const Calibration& calibration, Sizes sizes) {
  const auto measured = std::make_shared<const MeasuredModel>(calibration, std::move(sizes));
  return {calibrated_times(measured), calibrated_memory(measured)};
}

Costs data_sheet_costs(MachineInfo machine, Sizes sizes, const RateFactors& faster) {
  auto times = data_sheet_times(machine, sizes, faster);
  return {std::move(times), data_sheet_memory(std::move(machine), std::move(sizes))};
}

}  // namespace parabench::analytic
