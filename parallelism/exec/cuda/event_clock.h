// Points in a GPU's queue, and when the GPU came to them on the host's clock.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "base/clock.h"
#include "parallelism/comm/cuda/runtime.h"

namespace parabench::exec {

/// Marks of one stream. The clocks of GPU and host drift apart by some microseconds a second: how they stand to each
/// other is looked at when the object is made and in every synchronise() after marks, and times in between are
/// interpolated. The events behind marks are used again after synchronise(). One thread at a time.
class EventClock {
 public:
  /// Of a stream of the thread's current GPU. `host_clock` gives seconds.
  explicit EventClock(cudaStream_t stream, double (*host_clock)() = now_s);

  struct Point {
    int number = 0;
    cudaEvent_t event = nullptr;  ///< the clock's; of other use only until the mark() that follows a synchronise()
  };
  /// The point after all that the stream was given. Makes an event where none is left to use again.
  Point mark();
  /// Makes events for so many marks ahead, so that mark() need not.
  void reserve(int marks);
  /// Waits for all that the stream was given.
  void synchronise();
  /// When the GPU came to the mark; after a synchronise() that followed it (else std::out_of_range).
  double seconds(int number) const;
  /// When the GPU came to an event with a time, of whatever stream, that has passed. It may be newer than the last
  /// synchronise(), then by the clocks' latest pace. Exact to a microsecond within some ten seconds of that.
  double seconds(cudaEvent_t event) const;

 private:
  struct Look {
    double device_s, host_s;
  };

  comm::Event take_event();
  double host_seconds(double device_s) const;
  /// Ties a new event to the host's clock: of several looks, the one that took the least time counts.
  comm::Event look(double& host_s);

  cudaStream_t stream_;
  double (*host_clock_)();
  comm::Event origin_;              ///< the last look's
  std::vector<comm::Event> marks_;  ///< since then, in their order
  std::vector<double>
      device_s_;             ///< of the first look's event and of all marks and looks before origin_, from the first
  std::vector<Look> looks_;  ///< in their order
  std::vector<comm::Event> spare_;
};

}  // namespace parabench::exec
