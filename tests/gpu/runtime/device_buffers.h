// The conformance suite's buffers in the memory of a real GPU.
#pragma once

#include <memory>
#include <vector>

#include "parallelism/comm/forwarding_communicator.h"

namespace parabench::exec {

/// Gives the inner communicator a buffer on the thread's current GPU in place of each that the suite hands over, with
/// the same content before and after. What it allocates is memory of the host that stands for an arena of the inner's.
class DeviceBuffers final : public comm::ForwardingCommunicator {
 public:
  DeviceBuffers(comm::Communicator& inner, int gpu) : comm::ForwardingCommunicator(inner), inner_(inner), gpu_(gpu) {}

  comm::Arena allocate(std::int64_t bytes) override;

 private:
  friend class CopiedWork;
  struct Shadow {
    std::unique_ptr<std::byte[]> memory;
    std::byte* host;  ///< in `memory`, aligned
    comm::Arena device;
  };

  std::unique_ptr<comm::WorkState> start_collective(const comm::CollectiveCall& call) override;
  std::unique_ptr<comm::WorkState> start_send(comm::BufferView buffer, Rank to, comm::Message message) override;
  std::unique_ptr<comm::WorkState> start_recv(comm::BufferView buffer, Rank from, comm::Message message) override;
  /// Where an arena has the buffer's bytes on the GPU; nullptr: no arena has.
  void* behind(comm::BufferView buffer) const;

  comm::Communicator& inner_;
  int gpu_;
  std::vector<Shadow> shadows_;
};

}  // namespace parabench::exec
