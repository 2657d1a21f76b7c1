// The conformance suite's buffers in the memory of a real GPU.
#pragma once

#include <memory>
#include <vector>

#include "parallelism/comm/cuda/runtime.h"
#include "tests/parallelism/comm/forwarding_communicator.h"

namespace parabench {

/// Gives the inner communicator a buffer on the thread's current GPU in place of each that the suite hands over, with
/// the same content before and after. What it allocates is memory of the host that stands for an arena of the inner's.
class DeviceBuffers final : public ForwardingCommunicator {
 public:
  DeviceBuffers(Communicator& inner, int gpu) : ForwardingCommunicator(inner), inner_(inner), gpu_(gpu) {}

  Arena allocate(std::int64_t bytes) override;

 private:
  friend class CopiedWork;
  struct Shadow {
    std::unique_ptr<std::byte[]> memory;
    std::byte* host;  ///< in `memory`, aligned
    Arena device;
  };

  std::unique_ptr<WorkState> start_collective(const CollectiveCall& call) override;
  std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) override;
  std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) override;
  /// Where an arena has the buffer's bytes on the GPU; nullptr: no arena has.
  void* behind(BufferView buffer) const;

  Communicator& inner_;
  int gpu_;
  std::vector<Shadow> shadows_;
};

}  // namespace parabench
