// What the operations of one rank have in common where ranks hand device pointers over.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/cuda/event_pool.h"
#include "parallelism/comm/cuda/exchange.h"
#include "parallelism/comm/cuda/polling.h"
#include "parallelism/comm/cuda/runtime.h"

namespace parabench::comm {

/// All of it is the rank's own, but for the exchange, and outlives the operations.
class DirectResources {
 public:
  /// The operations of one kind, in their order, on a stream.
  struct Queue {
    Stream stream;
    std::uint64_t started = 0, queued = 0;
  };

  /// Collective over `host`, which must outlive it. Throws what make_direct_communicator() does. The thread's current
  /// GPU is `gpu` from then on.
  DirectResources(Communicator& host, int gpu);

  Communicator& host() const { return host_; }
  int gpu() const { return gpu_; }
  Exchange& exchange() { return *exchange_; }
  EventPool& events() { return events_; }
  GpuPolling& polling() { return polling_; }

  /// Any thread of the rank may call, and each has a current GPU of its own.
  void use_gpu() const { check_cuda(cudaSetDevice(gpu_), "cudaSetDevice"); }
  /// Made when they are first asked for.
  Queue& messages(const MessageLane& lane);
  Queue& collectives(CommGroupId group);
  /// Whether a kernel of this rank's GPU can touch the memory of `rank`.
  bool reaches(Rank rank) const { return reachable_[static_cast<std::size_t>(rank.value)] != 0; }
  /// For a member of a group whose memory this rank's GPU cannot reach.
  void* scratch(CommGroupId group, int position, std::int64_t bytes);

 private:
  /// A member's share that its GPU cannot reach, copied here and back.
  struct Scratch {
    DeviceMemory memory;
    std::int64_t bytes = 0;
  };

  void reach_peers();

  Communicator& host_;
  int gpu_;
  std::shared_ptr<Exchange> exchange_;
  std::vector<char> reachable_;  // by rank
  EventPool events_;
  std::map<MessageLane, Queue> messages_;
  std::vector<Queue> collectives_;  // by group
  std::map<std::pair<CommGroupId, int>, Scratch> scratch_;
  GpuPolling polling_;
};

}  // namespace parabench::comm
