// The communicator of ranks that share a node fabric.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "parallelism/comm/collectives.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/comm/fabric.h"
#include "parallelism/comm/mailbox.h"

namespace parabench::comm {

/// One rank's end. Sleeping calls look once a second whether the processes of the others live. Destroying it
/// while an exception unwinds the stack aborts the world: its peers would wait for it forever.
class FabricCommunicator final : public Communicator {
 public:
  /// A wait watches its bell for 10 us before it falls asleep, and yields meanwhile where ranks are more than cores.
  FabricCommunicator(std::shared_ptr<Fabric> fabric, Rank rank);
  ~FabricCommunicator() override;

  Capabilities capabilities() const override { return {true, {}, "window"}; }
  Arena allocate(std::int64_t bytes) override;
  std::uint32_t events() const override { return bell_.events.load(); }
  void sleep(std::uint32_t seen, double limit_s) override;
  void notify() override { ring(bell_); }
  void abort(std::string_view cause) noexcept override { fabric_->abort(rank(), cause); }

 private:
  std::unique_ptr<WorkState> start_collective(const CollectiveCall& call) override;
  std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) override;
  std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) override;
  std::unique_ptr<WorkState> start_barrier() override;

  std::shared_ptr<Fabric> fabric_;
  Doorbell& bell_;
  BetweenLooks between_looks_;
  std::vector<CollectiveEnd> collectives_;       // by group
  std::vector<MailboxEnd> outgoing_, incoming_;  // [peer * channel_count + channel]
  std::int64_t allocated_ = 0;
  std::chrono::steady_clock::time_point next_look_;
  int exceptions_;  // in flight when it was made
};

}  // namespace parabench::comm
