// Events with a time that are used again.
#pragma once

#include <memory>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/cuda/runtime.h"

namespace parabench::comm {

/// Events of one GPU. One thread at a time records; whoever holds an event may let go of it in any thread, also when
/// the pool is gone.
class EventPool {
 public:
  EventPool();
  /// An event after all that the stream was given so far. The thread's current GPU is the stream's.
  DeviceEvent record(const Stream& stream);

 private:
  struct Idle;
  std::shared_ptr<Idle> idle_;
};

/// As CUDA's functions take it.
inline cudaEvent_t cuda_event(const DeviceEvent& event) { return static_cast<cudaEvent_t>(event.get()); }

/// Makes all that the stream is given from now on wait for an event, of whatever GPU; for none where it is null. The
/// event may be let go of, and recorded again, right after.
void wait_for(const Stream& stream, void* event);

}  // namespace parabench::comm
