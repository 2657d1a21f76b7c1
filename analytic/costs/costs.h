// What operations cost: the seam between plans and machines.
#pragma once

#include <memory>

#include "analytic/calibration/calibration.h"
#include "analytic/costs/memory_model.h"
#include "analytic/costs/rate_factors.h"
#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"

namespace parabench::analytic {

/// Neither is null.
struct Costs {
  std::unique_ptr<const TimeModel> time;
  std::unique_ptr<const MemoryModel> memory;
};

/// F 1, B 2, I 1, W 1, recompute 1 per device and micro-batch, spread evenly over the device's stages of one pipeline
/// and their segments, times `unit_s`; everything else 0; no bytes.
Costs unit_costs(double unit_s = 1);
/// From the measurements; interpolates between numbers of samples and of busy ranks (interpolate.h). A compute
/// operation costs the sum of its layers plus the executor's overhead per operation; the loss belongs to the last
/// layer. Throws environment_error naming the layer, curve or rate that was never measured under these keys. The
/// calibration outlives them.
Costs calibrated_costs(const Calibration& calibration, Sizes sizes);
Costs calibrated_costs(Calibration&& calibration, Sizes sizes) = delete;
/// Roofline from peak rates: max(FLOPs / (eff peak), bytes / (eff bandwidth)) + launch floor, where eff of FLOPs is the
/// 0.75 of PyTorch's RuntimeEstimator; that of bandwidths is a guess, too (docs/predictions.md). On a GPU, whose
/// kernels are launched ahead, the larger of roofline and launch floor. Bytes by formula (Sizes). `faster`: its rates
/// are multiplied by these before the larger one is taken.
Costs data_sheet_costs(MachineInfo machine, Sizes sizes, const RateFactors& faster = {});

}  // namespace parabench::analytic
