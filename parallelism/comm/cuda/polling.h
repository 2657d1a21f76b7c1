// How long a rank may sleep between its looks at a GPU, which tells nobody when something has ended there.
#pragma once

#include <chrono>

namespace parabench::comm {

/// What a rank has on its GPU. `awaited`: until it has come, the host cannot do its next part of an operation.
class GpuPolling {
 public:
  void count_in_flight(int change);
  void count_awaited(int change);

  /// Seconds, at most `limit_s`. While something is awaited, or the host waits for an end, 0 for the first 50 us since
  /// the last change (the core is offered to others), then pause_after() the time since, at most 50 us while something
  /// is awaited, for others wait for the host's part. When nobody waits, 2 ms while something is in flight, enough to
  /// let go of buffers.
  double pause_s(double limit_s, bool waits_for_end) const;

 private:
  using Clock = std::chrono::steady_clock;
  int in_flight_ = 0, awaited_ = 0;
  Clock::time_point last_change_ = Clock::now();
};

}  // namespace parabench::comm
