// The communicator of ranks on GPUs that are threads of one process.
#pragma once

#include <memory>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/cuda/direct_resources.h"
#include "parallelism/comm/cuda/runtime.h"

namespace parabench::comm {

/// One rank's end. Operations on GPUs wait for events that were recorded before they were given out, so none waits for
/// itself in whatever order the ranks give them out. Nothing is freed under a kernel: an operation ends on each rank
/// only when all that touch its buffer have.
class DirectCommunicator final : public Communicator {
 public:
  /// Collective over `host`, which must outlive it.
  DirectCommunicator(Communicator& host, int gpu);
  ~DirectCommunicator() override;

  Capabilities capabilities() const override { return {true, {}, "window"}; }
  Arena allocate(std::int64_t bytes) override;
  std::uint32_t events() const override { return resources_.host().events(); }
  void sleep(std::uint32_t seen, double limit_s) override;
  void notify() override { resources_.host().notify(); }
  void abort(std::string_view cause) noexcept override { resources_.host().abort(cause); }

 private:
  std::unique_ptr<WorkState> start_collective(const CollectiveCall& call) override;
  std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) override;
  std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) override;
  std::unique_ptr<WorkState> start_barrier() override;

  DirectResources resources_;
  std::vector<DeviceMemory> arenas_;
  int exceptions_;  // in flight when it was made
};

}  // namespace parabench::comm
