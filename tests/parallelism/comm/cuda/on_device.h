// The conformance suite's buffers as buffers of a device.
#pragma once

#include "parallelism/comm/forwarding_communicator.h"

namespace parabench::comm {

/// Hands every buffer to the inner communicator as one of the device.
class OnDevice final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

 private:
  std::unique_ptr<WorkState> start_collective(const CollectiveCall& call) override;
  std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) override;
  std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) override;
};

}  // namespace parabench::comm
