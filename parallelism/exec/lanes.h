// How the lanes of one rank wait for each other: marks that only come, and sleep between changes.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <span>
#include <vector>

#include "parallelism/plan/dependencies.h"

namespace parabench::exec {

/// An operation is given out once the host has done its part: it has ended, or the rest happens on a device, which
/// brings what follows into order by itself.
class LaneProgress {
 public:
  explicit LaneProgress(const plan::RankProgram& program) {
    for (const plan::Lane& lane : program.lanes) given_out_.emplace_back(lane.ops.size());
  }

  bool given_out(const plan::OpRef& ref) const {
    return given_out_[ref.lane][ref.index].load(std::memory_order_acquire);
  }
  bool all_given_out(std::span<const plan::OpRef> refs) const;
  void give_out(int lane, int index);

  /// Blocks until all of `refs` are given out; rethrows the failure that another lane reported.
  void wait_for(std::span<const plan::OpRef> refs);
  /// Wakes waiters with a failure; the first one stays.
  void fail(std::exception_ptr error);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  void rethrow();

 private:
  std::vector<std::vector<std::atomic<bool>>> given_out_;  ///< [lane][index]
  std::atomic<std::uint32_t> changes_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace parabench::exec
