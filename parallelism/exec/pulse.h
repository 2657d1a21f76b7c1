// What a rank is doing, for whoever watches it from another thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "parallelism/plan/op.h"

namespace parabench::exec {

/// Told by the threads of a rank, read by others. A call takes tens of nanoseconds where nobody reads.
class Pulse {
 public:
  struct Reading {
    std::uint64_t moves = 0;            ///< grows with every operation that ends, on any lane
    bool waits = false;                 ///< the computing thread waits for other lanes
    std::optional<plan::Op> operation;  ///< that the compute lane has come to; nullopt: no plan runs
  };

  void comes_to(const plan::Op& op);
  void waits();
  void computes();
  void moves();
  void rests();
  Reading read() const;

 private:
  mutable std::mutex mutex_;
  Reading now_;
};

/// The pulse of a rank of this process; lives until the process ends.
Pulse& pulse_of(Rank rank);

}  // namespace parabench::exec
