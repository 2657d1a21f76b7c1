// The phase that calibrates.
#pragma once

#include "analytic/calibration/calibration.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"
#include "suite/rank/launch.h"

namespace parabench::rank {

/// Runs on every rank and answers on rank 0; what it returns on the others is empty.
analytic::Calibration calibrate(const Launch& launch, comm::Communicator& comm, exec::Device& device,
                                const RankPlace& place);

}  // namespace parabench::rank
