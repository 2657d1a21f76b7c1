// The phase that compares with the reference.
#pragma once

#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"
#include "results/record.h"
#include "suite/rank/launch.h"

namespace parabench::rank {

/// Runs on every rank and answers on rank 0; what it returns on the others is empty.
results::Equivalence verify(const Launch& launch, comm::Communicator& comm, exec::Device& device);

}  // namespace parabench::rank
