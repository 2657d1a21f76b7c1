// Ranks beside each other that hand nothing on.
#pragma once

#include "parallelism/comm/forwarding_communicator.h"

namespace parabench::comm {

/// Messages and collectives end as soon as they are looked at, and carry nothing. What is received is made up: numbers
/// of 2^-13 to 2^-12 and either sign, and of 2^-24 to 2^-23 on Channel::backward, so that weights hardly move by
/// made-up gradients; the same in every message. What is summed or gathered stays as it is, with what earlier steps
/// left in the places of others. Ranks still meet at barriers, and their memory is that of `world`. What is received
/// are f32 or bf16 on the host; what is summed or gathered may be anything.
class SilentCommunicator final : public ForwardingCommunicator {
 public:
  explicit SilentCommunicator(Communicator& world) : ForwardingCommunicator(world) {}

 private:
  std::unique_ptr<WorkState> start_collective(const CollectiveCall& call) override;
  std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) override;
  std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) override;
};

}  // namespace parabench::comm
