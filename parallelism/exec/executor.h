// Executes a plan on one rank and returns when everything ran.
#pragma once

#include <stdexcept>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"
#include "parallelism/exec/input.h"
#include "parallelism/exec/stage_state.h"
#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/timeline.h"

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
  std::vector<std::vector<Span>> spans;  ///< this rank's, [lane][index] as in the plan; monotonic clock
  std::vector<OpMemory> memory;                     ///< of the compute lane's operations
  std::vector<double> losses;                       ///< this rank's share of each step's mean loss (last stage), else 0
};

/// Runs `plan` (unrolled) as rank `comm.rank()`: one thread computes (the caller), one drives all other lanes.
/// Waiting threads sleep. Starts with a barrier; none stands between steps. The memory peak is reset when step
/// `measure_from` begins. `comm` has the plan's reduction_groups().
/// Throws NotANumber, PeerFailure, or what a reader threw; before that the other ranks are told to stop.
Execution execute(const Plan& plan, const ModelSpec& model, StageState& state, Communicator& comm, RankInput& input,
                  Device& device, int measure_from);

}  // namespace parabench
