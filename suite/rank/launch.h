// What one launch was asked to do, and what every phase starts from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analytic/calibration/machine.h"
#include "base/strong.h"
#include "datasets/source.h"
#include "models/spec/model.h"
#include "parallelism/exec/emulated_links.h"
#include "parallelism/exec/input.h"
#include "parallelism/exec/memory.h"
#include "parallelism/plan/durations.h"
#include "suite/protocol/command.h"

namespace parabench::rank {

/// A plan with what follows from it.
struct Launch {
  protocol::RankCommand command;
  exec::InputOptions input;
  plan::Plan plan;
  plan::Durations durations;                   ///< of the plan's operations, where the devices are emulated
  std::shared_ptr<exec::EmulatedLinks> links;  ///< between all ranks, likewise
  models::ModelSpec model;                     ///< whose layers the plan runs
  models::ModelSpec original;  ///< the same before its batch norms were cut for sync_bn:on: what the reference trains
  std::shared_ptr<const datasets::SampleSource> source;  ///< null where the devices are emulated
  analytic::MachineInfo machine;  ///< as the whole node, before ranks took their shares of its cores
  std::vector<int> all_cores;     ///< what the process may use, likewise
};
/// Reads and validates the plan file and opens the data set. Throws Error.
Launch load_launch(const protocol::RankCommand& command);

/// Where a rank runs.
struct RankPlace {
  std::string cpuset;        ///< its cores
  int ranks_on_device = 1;   ///< that compute on its GPU, itself among them; 1 on the processor
  bool same_process = true;  ///< they are all threads of this process
};

/// The counted memory of a rank; lives until the process ends, since blocks outlive the objects that made them.
exec::MemoryAccount& account_of(Rank rank);

}  // namespace parabench::rank
