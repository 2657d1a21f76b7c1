// What the ranks of a launch need before they can begin, whatever they were given: a plan, or exchanges to time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analytic/calibration/machine.h"
#include "base/case.h"
#include "parallelism/comm/communicator.h"
#include "suite/protocol/command.h"
#include "suite/protocol/reply.h"

namespace parabench::rank {

struct Job {
  Case spec;         ///< np, device, communicator
  std::string hash;  ///< of what the ranks were given
  std::vector<std::vector<Rank>> groups;
  std::int64_t arena_bytes = 0;                              ///< that each rank will ask the communicator for
  ReduceKind between_hosts = ReduceKind::automatic;          ///< what MPI's communicator is asked for
  analytic::MachineInfo machine;                             ///< before ranks took their shares of its cores
  std::vector<int> all_cores;                                ///< what the process may use, likewise
  std::function<protocol::Answer(comm::Communicator&)> run;  ///< the body of one rank
};

/// Reads and checks what `command` names. Throws Error.
Job load_job(const protocol::RankCommand& command);

/// What it says of ranks and device, before anything that costs time.
Case spec_of(const protocol::RankCommand& command);

}  // namespace parabench::rank
