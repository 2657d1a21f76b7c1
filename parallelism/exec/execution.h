// What a rank knows once it has trained by a plan.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "parallelism/exec/lane_runner.h"

namespace parabench::exec {

/// The loss became NaN or infinite: training diverged and its time means nothing.
class NotANumber : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws NotANumber where the loss that `op` came to is not finite. `lr`: of the case.
void require_finite(double loss, const plan::Op& op, double lr);

/// Counted bytes around one compute operation.
struct OpMemory {
  std::int64_t before = 0, peak = 0, after = 0;
};

/// Gradients that PyTorch's reducer summed together.
struct ReducedBucket {
  StepId step;
  int parameters = 0;
  std::int64_t bytes = 0;
  SegmentId first, last;  ///< that have them
  /// On the clock of now_s(): all of them were there, the sum was started and it ended.
  double ready = 0, start = 0, end = 0;
};

struct Execution {
  RankSpans spans;
  /// Of the compute lane's operations; zeros where a graph was replayed, and where several run at a time.
  std::vector<OpMemory> memory;
  /// This rank's share of each step's mean loss (last stage), else 0; also in steps for which it came too late.
  std::vector<double> losses;
  /// On a server that takes the gradients that come first: whose, by step, ascending; else empty.
  std::vector<std::vector<Rank>> taken;
  std::vector<StepId> too_late;        ///< on one of its workers: steps in which it computed nothing, ascending
  std::vector<ReducedBucket> buckets;  ///< of all steps, in the order of their sums; empty without the reducer
};

}  // namespace parabench::exec
