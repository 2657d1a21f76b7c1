// Who came in time where arrival decides (first_come.h of plan): what training by a plan has to say to be repeated.
#pragma once

#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/exec/execution.h"
#include "parallelism/plan/plan.h"

namespace parabench::exec {

struct Arrivals {
  /// [stage][step] replicas whose gradients the update of the stage's server was made of, ascending.
  std::vector<std::vector<std::vector<ReplicaId>>> taken;
  std::vector<std::vector<bool>> too_late;  ///< [replica][step] whether it computed nothing

  bool empty() const { return taken.empty(); }
};

/// What all ranks know of it, on rank 0; empty on other ranks, and where arrival decides nothing. Collective.
/// `execution`: of the rank, by `plan`.
Arrivals gather_arrivals(const plan::Plan& plan, const Execution& execution, comm::Communicator& comm);

}  // namespace parabench::exec
