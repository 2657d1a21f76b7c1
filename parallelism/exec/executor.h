// Trains by a plan on one rank and returns when everything ran.
#pragma once

#include <stdexcept>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"
#include "parallelism/exec/input.h"
#include "parallelism/exec/lane_runner.h"
#include "parallelism/exec/stage_state.h"

namespace parabench {

/// The loss became NaN or infinite: training diverged and its time means nothing.
class NotANumber : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Counted bytes around one compute operation.
struct OpMemory {
  std::int64_t before = 0, peak = 0, after = 0;
};

struct Execution {
  RankSpans spans;
  std::vector<OpMemory> memory;  ///< of the compute lane's operations
  std::vector<double> losses;    ///< this rank's share of each step's mean loss (last stage), else 0
};

/// Trains `plan` (unrolled) as rank `comm.rank()`, by run_lanes(). The memory peak is reset when step `measure_from`
/// begins. `comm` has the plan's reduction_groups() and can send on its routes().
/// Throws NotANumber, PeerFailure, or what a reader threw; before that the other ranks are told to stop.
Execution execute(const Plan& plan, const ModelSpec& model, StageState& state, Communicator& comm, RankInput& input,
                  Device& device, int measure_from);

}  // namespace parabench
