#include "suite/rank/hosts.h"

#include "base/host_name.h"

namespace parabench::rank {

Placement find_placement(comm::Communicator& comm) { return placement_by_names(comm::all_gather(comm, host_name())); }

}  // namespace parabench::rank
