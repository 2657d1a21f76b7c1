#include "analytic/costs/data_sheet_memory.h"

#include <utility>

#include "analytic/calibration/calibration.h"
#include "analytic/costs/data_sheet_rates.h"
#include "analytic/costs/gpu_sheet.h"

namespace parabench::analytic {
namespace {

class DataSheetMemory final : public MemoryModel {
 public:
  DataSheetMemory(MachineInfo machine, Sizes sizes) : machine_(std::move(machine)), sizes_(std::move(sizes)) {}

  std::int64_t saved_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    return sizes_.saved_bytes(plan, rank, op);
  }
  std::int64_t peak_bytes(const plan::Plan& plan, Rank rank, const plan::Op& op) const override {
    return sizes_.temporary_bytes(plan, rank, op);
  }
  DeviceOverhead device_overhead(const plan::Plan& plan) const override {
    if (measured_device(plan.spec) != DeviceKind::cuda) return {};
    const GpuInfo* gpu = first_gpu(machine_);
    return {.context_bytes = typical_context_bytes,
            .communicator_bytes = typical_communicator_bytes(plan.spec.comm, plan.spec.np * machine_.tensor_ranks),
            .matrix_workspace_bytes = matrix_workspace_bytes(gpu),
            .memory_bytes = gpu ? gpu->memory_bytes : 0};
  }
  std::int64_t process_bytes(const plan::Plan&) const override { return 0; }

 private:
  MachineInfo machine_;
  Sizes sizes_;
};

}  // namespace

std::unique_ptr<const MemoryModel> data_sheet_memory(MachineInfo machine, Sizes sizes) {
  return std::make_unique<DataSheetMemory>(std::move(machine), std::move(sizes));
}

}  // namespace parabench::analytic
