// Ranks beside each other that hand nothing on.
#pragma once

#include "parallelism/comm/forwarding_communicator.h"

namespace parabench::comm {

/// Messages and collectives end as soon as they are looked at, and carry nothing: what is received are then random
/// numbers of 2^-13 to 2^-12 and either sign, the same in every message of a rank, with which training goes on; what is
/// summed or gathered stays as it is. Ranks still meet at barriers, and their memory is that of `world`. For buffers of f32 or
/// bf16 on the host.
class SilentCommunicator final : public ForwardingCommunicator {
 public:
  explicit SilentCommunicator(Communicator& world) : ForwardingCommunicator(world) {}

 private:
  std::unique_ptr<WorkState> start_collective(const CollectiveCall& call) override;
  std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) override;
  std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) override;
};

}  // namespace parabench::comm
