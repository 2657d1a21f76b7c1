// The phase that measures.
#pragma once

#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"
#include "results/record.h"
#include "suite/rank/launch.h"

namespace parabench::rank {

/// Runs on every rank and answers on rank 0; what it returns on the others is empty.
results::Measured measure(const Launch& launch, comm::Communicator& comm, exec::Device& device, const RankPlace& place);
/// The same on emulated devices, which are threads of this process: without memory, bytes and losses.
results::Measured measure_emulated(const Launch& launch, comm::Communicator& comm);

}  // namespace parabench::rank
