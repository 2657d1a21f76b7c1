// How fast a launch's loaders make samples.
#pragma once

#include "analytic/calibration/calibration.h"
#include "parallelism/comm/communicator.h"
#include "suite/rank/launch.h"

namespace parabench::rank {

/// Lets the loader of one rank run by itself, and then those of all ranks at once, over pieces of so many samples, from
/// the beginning of the training stream: seconds from sample to sample, of all at once on the slowest rank. Samples
/// from files may lie in the system's memory by then. Collective; on rank 0 `calibration` gets them. Nothing with
/// input:resident.
void time_loading(const Launch& launch, comm::Communicator& comm, int samples, analytic::Calibration& calibration);

}  // namespace parabench::rank
