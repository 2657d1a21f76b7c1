// What one launch was asked to do, and what every phase starts from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "datasets/source.h"
#include "models/spec/model.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"
#include "parallelism/exec/input.h"
#include "parallelism/plan/durations.h"
#include "results/record.h"
#include "suite/protocol/command.h"

namespace parabench::rank {

/// A plan with what follows from it.
struct Launch {
  protocol::RankCommand command;
  exec::InputOptions input;
  plan::Plan plan;
  plan::Durations durations;  ///< of the plan's operations, where the devices are emulated
  models::ModelSpec model;
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

/// Each phase runs on every rank and answers on rank 0; what it returns on the others is empty.
results::Measured measure(const Launch& launch, comm::Communicator& comm, exec::Device& device, const RankPlace& place);
/// The same on emulated devices, which are threads of this process: without memory, bytes and losses.
results::Measured measure_emulated(const Launch& launch, comm::Communicator& comm);
results::Equivalence verify(const Launch& launch, comm::Communicator& comm, exec::Device& device);
analytic::Calibration calibrate(const Launch& launch, comm::Communicator& comm, exec::Device& device,
                                const RankPlace& place);

}  // namespace parabench::rank
