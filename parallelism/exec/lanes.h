// How the lanes of one rank wait for each other: marks that only come, and sleep between changes.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "parallelism/plan/dependencies.h"

namespace parabench::exec {

/// An operation is given out once the host has done its part: it has ended, or the rest happens on a device, which
/// brings what follows into order by itself.
class LaneProgress {
 public:
  explicit LaneProgress(const plan::RankProgram& program) {
    for (const plan::Lane& lane : program.lanes) order_.emplace_back(lane.ops.size());
  }

  bool given_out(const plan::OpRef& ref) const {
    return order_[ref.lane][ref.index].load(std::memory_order_acquire) > 0;
  }
  /// The how-manieth of the rank's operations it was that was given out, from 1 on; nothing while it is not.
  std::optional<double> place(const plan::OpRef& ref) const;
  bool all_given_out(std::span<const plan::OpRef> refs) const;
  void give_out(int lane, int index);

  /// Blocks until `may_go_on()`, which is asked again whenever something was given out; rethrows the failure that
  /// another lane reported.
  template <class MayGoOn>
  void wait_until(MayGoOn may_go_on) {
    for (;;) {
      const std::uint32_t seen = changes_.load(std::memory_order_acquire);
      if (failed()) rethrow();
      if (may_go_on()) return;
      changes_.wait(seen, std::memory_order_acquire);
    }
  }
  /// Wakes waiters with a failure; the first one stays.
  void fail(std::exception_ptr error);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  void rethrow();

 private:
  std::vector<std::vector<std::atomic<std::uint32_t>>> order_;  ///< [lane][index] of what is given out; 0: not yet
  std::atomic<std::uint32_t> given_out_{0};                     ///< how many
  std::atomic<std::uint32_t> changes_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace parabench::exec
