// Bytes by formula, and what a GPU typically holds.
#pragma once

#include <memory>

#include "analytic/calibration/machine.h"
#include "analytic/costs/memory_model.h"
#include "analytic/memory/sizes.h"

namespace parabench::analytic {

/// Of data_sheet_costs().
std::unique_ptr<const MemoryModel> data_sheet_memory(MachineInfo machine, Sizes sizes);

}  // namespace parabench::analytic
