// Figures of all ranks.
#pragma once

#include <vector>

#include "parallelism/comm/communicator.h"

namespace parabench::rank {

/// By rank, on rank 0; on the others their own alone. Collective.
std::vector<double> gathered(comm::Communicator& comm, double value);
/// The largest of all on rank 0, on the others their own. Collective.
double largest_of(comm::Communicator& comm, double value);

}  // namespace parabench::rank
