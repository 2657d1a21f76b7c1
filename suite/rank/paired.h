// The phase that calibrates and trains in turn, so that a machine's drift is in both.
#pragma once

#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"
#include "suite/protocol/paired_rounds.h"
#include "suite/rank/launch.h"

namespace parabench::rank {

/// Rounds of chains of layers alone and chains on all ranks at once and, on processors, of several ranks, a rehearsal
/// of the plan's steps (analytic/simulate/rehearsal.h), between steps of the plan; reductions and messages of the
/// plan's own sizes and a small one, and what updates lose to each other, are measured in every fourth round and stand
/// in the three after it, too. Not rehearsed are graph:on, executor:futurized, precision:fp64, sums by PyTorch's
/// reducer, weights that are gathered before they are read, servers, and copies that average weights.
/// protocol::fewest_paired_rounds at least, as many more as protocol::paired_launch_s has room for. Runs on every rank
/// and answers on rank 0; what it returns on the others is empty.
protocol::PairedRounds pair(const Launch& launch, comm::Communicator& comm, exec::Device& device);

}  // namespace parabench::rank
