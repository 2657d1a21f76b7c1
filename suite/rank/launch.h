// What one launch was asked to do, and what every phase starts from.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "datasets/source.h"
#include "models/spec/model.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"
#include "parallelism/exec/input.h"
#include "parallelism/plan/durations.h"

namespace parabench {

struct RankOptions {
  std::string plan_file, phase, reply_folder;
  int steps = 20, warmup = 5;
  InputOptions input;
  bool trace = false;
  bool one_process = false;  ///< the ranks of comm:nccl are threads of this process, as without MPI
};

/// A plan with what follows from it.
struct Launch {
  RankOptions options;
  Plan plan;
  Durations durations;  ///< of the plan's operations, where the devices are emulated
  ModelSpec model;
  std::shared_ptr<const SampleSource> source;  ///< null where the devices are emulated
  MachineInfo machine;                         ///< as the whole node, before ranks took their shares of its cores
  std::vector<int> all_cores;                  ///< what the process may use, likewise
};
/// Reads and validates the plan file and opens the data set. Throws Error.
Launch load_launch(const RankOptions& options);

/// Where a rank runs.
struct RankPlace {
  std::string cpuset;        ///< its cores
  int ranks_on_device = 1;   ///< that compute on its GPU, itself among them; 1 on the processor
  bool same_process = true;  ///< they are all threads of this process
};

/// The counted memory of a rank; lives until the process ends, since blocks outlive the objects that made them.
MemoryAccount& account_of(Rank rank);

/// Each phase runs on every rank; rank 0's result goes into the reply, the others' is empty.
nlohmann::json measure(const Launch& launch, Communicator& comm, Device& device, const RankPlace& place);
/// The same on emulated devices, which are threads of this process: without memory, bytes and losses.
nlohmann::json measure_emulated(const Launch& launch, Communicator& comm);
nlohmann::json verify(const Launch& launch, Communicator& comm, Device& device);
nlohmann::json calibrate(const Launch& launch, Communicator& comm, Device& device, const RankPlace& place);

}  // namespace parabench
