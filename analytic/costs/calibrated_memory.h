// Bytes from measurements, by formula where none were taken.
#pragma once

#include <memory>

#include "analytic/costs/measured_model.h"
#include "analytic/costs/memory_model.h"

namespace parabench::analytic {

/// Of calibrated_costs().
std::unique_ptr<const MemoryModel> calibrated_memory(std::shared_ptr<const MeasuredModel> measured);

}  // namespace parabench::analytic
