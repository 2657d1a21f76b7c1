// Ranks beside each other that hand nothing on.
#pragma once

#include "parallelism/comm/communicator.h"

namespace parabench::comm {

/// Messages and collectives end as soon as they are started, and carry nothing: what is received are random numbers of
/// 2^-13 to 2^-12 and either sign, the same in every message of a rank, with which training goes on; what is summed or
/// gathered stays as it is. Ranks still meet at barriers, and their memory is that of `world`. For buffers of f32 or
/// bf16 on the host.
class SilentCommunicator final : public Communicator {
 public:
  /// `world` outlives it.
  explicit SilentCommunicator(Communicator& world) : Communicator(world.rank(), world.groups()), world_(world) {}

  Capabilities capabilities() const override;
  Arena allocate(std::int64_t bytes) override { return world_.allocate(bytes); }
  std::uint32_t events() const override { return world_.events(); }
  void sleep(std::uint32_t seen, double limit_s) override { world_.sleep(seen, limit_s); }
  void notify() override { world_.notify(); }
  void abort(std::string_view cause) noexcept override { world_.abort(cause); }

 private:
  std::unique_ptr<WorkState> start_collective(const CollectiveCall& call) override;
  std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) override;
  std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) override;
  std::unique_ptr<WorkState> start_barrier() override;

  Communicator& world_;
};

}  // namespace parabench::comm
