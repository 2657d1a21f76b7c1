// The communicator of ranks on GPUs that are threads of one process.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/cuda/event_pool.h"
#include "parallelism/comm/cuda/exchange.h"
#include "parallelism/comm/cuda/polling.h"
#include "parallelism/comm/cuda/runtime.h"

namespace parabench {

/// One rank's end. Operations on GPUs wait for events that were recorded before they were given out, so none waits for
/// itself in whatever order the ranks give them out. Nothing is freed under a kernel: an operation ends on each rank
/// only when all that touch its buffer have.
class DirectCommunicator final : public Communicator {
 public:
  /// Collective over `host`, which must outlive it.
  DirectCommunicator(Communicator& host, int gpu);
  ~DirectCommunicator() override;

  Capabilities capabilities() const override { return {true, {}}; }
  Arena allocate(std::int64_t bytes) override;
  std::uint32_t events() const override { return host_.events(); }
  void sleep(std::uint32_t seen, double limit_s) override;
  void notify() override { host_.notify(); }
  void abort(std::string_view cause) noexcept override { host_.abort(cause); }

 private:
  friend class DirectWork;
  friend class DirectSend;
  friend class DirectReceive;
  friend class DirectReduction;

  std::unique_ptr<WorkState> start_all_reduce(BufferView buffer, int group) override;
  std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) override;
  std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) override;
  std::unique_ptr<WorkState> start_barrier() override;

  /// The operations of one kind, in their order, on a stream.
  struct Queue {
    Stream stream;
    std::uint64_t started = 0, queued = 0;
  };
  /// A member's share that its GPU cannot reach, copied here and back.
  struct Scratch {
    DeviceMemory memory;
    std::int64_t bytes = 0;
  };

  Queue& messages(const MessageLane& lane);
  Queue& collectives(int group);
  /// For a member of a group whose memory this rank's GPU cannot reach.
  void* scratch(int group, int position, std::int64_t bytes);
  /// Any thread of the rank may call, and each has a current GPU of its own.
  void use_gpu() const { check_cuda(cudaSetDevice(gpu_), "cudaSetDevice"); }
  void reach_peers();

  Communicator& host_;
  int gpu_;
  std::shared_ptr<Exchange> exchange_;
  std::vector<char> reachable_;  // by rank: whether a kernel of this rank's GPU can touch its memory
  EventPool events_;
  std::map<MessageLane, Queue> messages_;
  std::vector<Queue> collectives_;  // by group
  std::map<std::pair<int, int>, Scratch> scratch_;
  std::vector<DeviceMemory> arenas_;
  GpuPolling polling_;
  int exceptions_;  // in flight when it was made
};

}  // namespace parabench
