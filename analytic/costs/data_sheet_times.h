// Times by the data sheet of a machine that nobody measured.
#pragma once

#include <memory>

#include "analytic/calibration/machine.h"
#include "analytic/costs/rate_factors.h"
#include "analytic/costs/time_model.h"
#include "analytic/memory/sizes.h"

namespace parabench::analytic {

/// Of data_sheet_costs().
std::unique_ptr<const TimeModel> data_sheet_times(MachineInfo machine, Sizes sizes, const RateFactors& faster);

}  // namespace parabench::analytic
