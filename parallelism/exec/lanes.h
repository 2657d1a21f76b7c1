// How the lanes of one rank wait for each other: counters that only grow, and sleep between changes.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include "parallelism/plan/dependencies.h"

namespace parabench {

/// Within a lane operations end in order, so "has it ended" is one comparison with the lane's counter.
class LaneProgress {
 public:
  bool ended(const OpRef& ref) const {
    return ended_[static_cast<int>(ref.lane)].load(std::memory_order_acquire) > ref.index;
  }
  bool all_ended(const std::vector<OpRef>& refs) const;
  void end(Lane lane);  ///< the lane's next operation has ended

  /// Blocks until all of `refs` have ended; rethrows the failure that another lane reported.
  void wait_for(const std::vector<OpRef>& refs);
  /// Wakes waiters with a failure; the first one stays.
  void fail(std::exception_ptr error);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  void rethrow();

 private:
  std::array<std::atomic<int>, lane_count> ended_{};
  std::atomic<std::uint32_t> changes_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace parabench
