// How the lanes of one rank wait for each other: counters that only grow, and sleep between changes.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <span>
#include <vector>

#include "parallelism/plan/dependencies.h"

namespace parabench {

/// Within a lane operations end in order, so "has it ended" is one comparison with the lane's counter.
class LaneProgress {
 public:
  explicit LaneProgress(std::size_t lanes) : ended_(lanes) {}

  bool ended(const OpRef& ref) const { return ended_[ref.lane].load(std::memory_order_acquire) > ref.index; }
  bool all_ended(std::span<const OpRef> refs) const;
  void end(int lane);  ///< the lane's next operation has ended

  /// Blocks until all of `refs` have ended; rethrows the failure that another lane reported.
  void wait_for(std::span<const OpRef> refs);
  /// Wakes waiters with a failure; the first one stays.
  void fail(std::exception_ptr error);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  void rethrow();

 private:
  std::vector<std::atomic<int>> ended_;
  std::atomic<std::uint32_t> changes_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace parabench
